export { type LocalStateOptions, LocalWorkflowStateAdapter } from './local-state-adapter.ts'
export type { Durability } from './state-file.ts'
export { StateFileError } from './state-file-error.ts'

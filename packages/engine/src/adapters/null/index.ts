export { NullWorkflowStateAdapter } from './null-state-adapter.ts'

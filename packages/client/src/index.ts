export type { FlowOf, FlowRegistry, FlowSlug } from './flow-registry.ts'
export { FlowRun } from './flow-run.ts'
export { FlowStep } from './flow-step.ts'
export { DEFAULT_INTERVALS, type Intervals } from './intervals.ts'
export type { FlowEvent, RunEvent, StepEvent } from './run-event.ts'
export type { RunStatus, SkipReason, StepStatus } from './run-state.ts'
export {
  createStarflowClient,
  StarflowClient,
  type StarflowClientOptions,
  type StartOptions,
} from './starflow-client.ts'
export type { WaitOptions } from './status-wait.ts'
export type { SupabasePort } from './supabase-port.ts'

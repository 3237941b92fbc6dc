export {
  EdgeWorker,
  type EdgeWorkerApi,
  type FlowWorkerConfig,
  type QueueHandler,
  type QueueWorkerConfig,
  type StartArguments,
  type Startable,
  type StepWorkerConfig,
} from './edge-worker.ts'
export type { LogLevel, WorkerEvent } from './events.ts'
export { FlowRoutingMismatchError, FlowShapeMismatchError } from './flow-mismatch-error.ts'
export { DEFAULT_MAX_PG_CONNECTIONS } from './numbers.ts'
export type { RetryConfig } from './retry-policy.ts'
export { connectionsOf } from './shared-connections.ts'
export type { FlowQueueConfig, ResolvedWorkerConfig, WorkerConfig } from './worker-config.ts'
export { type OpenHandlersSql, openHandlersSql } from './worker-connections.ts'
export { ENVIRONMENT_VARIABLES } from './worker-environment.ts'
export { WorkerShutdownError } from './worker-shutdown-error.ts'

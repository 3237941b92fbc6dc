import type {
  CompiledFlow,
  FencedFunction,
  FlowSchedule,
  HistoryRange,
  ListedFunction,
  ListedQueue,
  ListedWorker,
  QueueSample,
  RouteCoverage,
} from '@starflow/core/operations'

/** What operators read and do about step queues, where there are any. */
export interface QueueOperations {
  queues(): Promise<readonly ListedQueue[]>
  queueHistory(queueName: string, range: HistoryRange): Promise<readonly QueueSample[]>
  coverage(flowSlug: string | undefined): Promise<readonly RouteCoverage[]>
  workers(options: { readonly all: boolean; readonly limit: number }): Promise<readonly ListedWorker[]>
  functions(): Promise<readonly ListedFunction[]>
  /** @throws StarflowError SF421, SF422 */
  fence(functionName: string, by: string): Promise<FencedFunction>
  /** @throws StarflowError SF422, and without `force` SF632 while a rollout or deploy is at work */
  restore(functionName: string, force: boolean): Promise<FencedFunction>
  /** Flows that are compiled, with what is needed to start and show them. */
  compiledFlows(): Promise<readonly CompiledFlow[]>
  /** Jobs of pg_cron that start runs. */
  schedules(): Promise<readonly FlowSchedule[]>
  /** @throws StarflowError SF201 */
  setPaused(flowSlug: string, isPaused: boolean): Promise<void>
}

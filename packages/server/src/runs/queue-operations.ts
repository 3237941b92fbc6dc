import type { FencedFunction, ListedWorker, QueueDepth, RouteCoverage } from '@starflow/core/operations'

/** What operators read and do about step queues, where there are any. */
export interface QueueOperations {
  queues(): Promise<readonly QueueDepth[]>
  coverage(flowSlug: string | undefined): Promise<readonly RouteCoverage[]>
  workers(options: { readonly all: boolean; readonly limit: number }): Promise<readonly ListedWorker[]>
  functions(): Promise<readonly FencedFunction[]>
  /** @throws StarflowError SF421, SF422 */
  fence(functionName: string, by: string): Promise<FencedFunction>
  /** @throws StarflowError SF422 */
  restore(functionName: string): Promise<FencedFunction>
  /** Flows that are compiled, with what is needed to start and show them. */
  compiledFlows(): Promise<readonly CompiledFlow[]>
}

export interface CompiledFlow {
  readonly flow: string
  readonly queueMode: string
  readonly isPaused: boolean
  readonly compiledAt: Date
  readonly inputSchema: unknown
  readonly steps: readonly CompiledStep[]
}

export interface CompiledStep {
  readonly step: string
  readonly type: string
  readonly dependsOn: readonly string[]
  readonly queue: string
}

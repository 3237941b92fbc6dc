import type { Sql } from '../database/sql.ts'
import type { FencedFunction } from './fenced-function.ts'

/** A worker function as an operator sees it. */
export interface ListedFunction extends FencedFunction {
  /** How its workers are started: by a ping over HTTP, or as a process by somebody else. */
  readonly startMode: 'http' | 'process'
  /** The queues that it has registered workers for. */
  readonly queues: readonly string[]
  readonly liveWorkers: number
  readonly lastInvokedAt: Date | null
  /** Starts in a row that have failed. */
  readonly failedStarts: number
  readonly lastError: string | null
  readonly lastErrorAt: Date | null
  /** Workers that were started within the last hour. */
  readonly lives: number
  /** What one of them did, on average; null where that is not known, or another function shares its queues. */
  readonly tasksPerLife: number | null
  /** Of the workers of the last hour and those that go on: how many live, or lived, in an isolate or process whose CPU was measured. */
  readonly measuredWorkers: number
  /** CPU of these isolates and processes by the tasks that were done in them; null where none was measured, or none had a task. */
  readonly cpuMsPerTask: number | null
}

/** All worker functions that the database knows. */
export async function readFunctions(sql: Sql): Promise<ListedFunction[]> {
  return await sql<ListedFunction[]>`
    select function_name as "functionName", enabled, enabled_before_fence as "enabledBeforeFence", fenced_by as "fencedBy",
           fenced_at as "fencedAt", disabled_reason as "disabledReason", start_mode as "startMode", queue_names as queues,
           live_workers as "liveWorkers", last_invoked_at as "lastInvokedAt", failed_starts as "failedStarts",
           last_error as "lastError", last_error_at as "lastErrorAt", lives, tasks_per_life as "tasksPerLife",
           measured_workers as "measuredWorkers", cpu_ms_per_task as "cpuMsPerTask"
    from starflow.list_functions()`
}

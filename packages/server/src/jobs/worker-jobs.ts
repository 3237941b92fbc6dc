import type { Json } from '@starflow/dsl'
import type { Scope } from '../workspace.ts'

/** A job that an external worker has taken. */
export interface ClaimedJob {
  readonly jobId: string
  readonly runId: string
  /** The step, or `step[3]` for an element of a map. */
  readonly node: string
  readonly kind: string
  readonly payload: Json
  /** Goes with every report: it tells this worker's turn from others. */
  readonly attempt: number
  readonly leaseUntil: string
}

/** What a report is about, and who sends it. */
export interface JobReport {
  readonly scope: Scope
  readonly jobId: string
  readonly workerId: string
  readonly attempt: number
}

/** Jobs as external workers reach them. Reports about a job that the worker no longer holds are refused with SF943. */
export interface WorkerJobs {
  /** The oldest job of these kinds, or null. */
  claim(claim: {
    readonly scope: Scope
    readonly workerId: string
    readonly kinds: readonly string[]
    readonly leaseMs: number
  }): Promise<ClaimedJob | null>
  /** Until when the lease lasts now. */
  heartbeat(report: JobReport & { readonly leaseMs: number }): Promise<string>
  complete(report: JobReport & { readonly result: Json }): Promise<void>
  fail(report: JobReport & { readonly error: string; readonly isPermanent: boolean }): Promise<void>
}

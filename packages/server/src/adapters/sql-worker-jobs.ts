import type { Json } from '@starflow/dsl'
import type { ClaimedJob, JobReport, WorkerJobs } from '../jobs/worker-jobs.ts'
import { workspaceOf } from '../workspace.ts'
import type { SqlFunctions } from './sql-functions.ts'

interface ClaimRow {
  readonly job_id: string
  readonly run_id: string
  readonly node_id: string
  readonly kind: string
  readonly payload: Json
  readonly attempt: number
  readonly lease_until: string
}

/** Jobs in Postgres: each method is one call of one function of the schema `starflow`. */
export class SqlWorkerJobs implements WorkerJobs {
  readonly #call: SqlFunctions

  constructor(call: SqlFunctions) {
    this.#call = call
  }

  async claim({ scope, workerId, kinds, leaseMs }: Parameters<WorkerJobs['claim']>[0]): Promise<ClaimedJob | null> {
    const [row] = (await this.#call('claim_worker_job', {
      ...{ worker_id: workerId, kinds, lease_ms: leaseMs, workspace_id: workspaceOf(scope) ?? null },
    })) as ClaimRow[]
    if (row === undefined) return null
    const { job_id, run_id, node_id, kind, payload, attempt, lease_until } = row
    const leaseUntil = new Date(lease_until).toISOString()
    return { jobId: job_id, runId: run_id, node: node_id, kind, payload, attempt, leaseUntil }
  }

  async heartbeat(report: JobReport & { readonly leaseMs: number }): Promise<string> {
    const answer = await this.#call('heartbeat_worker_job', { ...fence(report), lease_ms: report.leaseMs })
    return new Date(answer as string).toISOString()
  }

  async complete(report: JobReport & { readonly result: Json }): Promise<void> {
    await this.#call('complete_worker_job', { ...fence(report), result: report.result })
  }

  async fail(report: JobReport & { readonly error: string; readonly isPermanent: boolean }): Promise<void> {
    const { error, isPermanent } = report
    await this.#call('fail_worker_job', { ...fence(report), error, is_permanent: isPermanent })
  }
}

function fence({ scope, jobId, workerId, attempt }: JobReport) {
  return { job_id: jobId, worker_id: workerId, attempt, workspace_id: workspaceOf(scope) ?? null }
}

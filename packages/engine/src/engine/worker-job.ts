import { type Json, NonRetryableError, type WorkerJob } from '@starflow/dsl'
import { isStarflowError, StarflowError } from '@starflow/errors'
import { WORKER_JOB_POLL_MS } from '../numbers.ts'
import type { WorkerJobRecord, WorkerJobStore, WorkflowStateAdapter } from '../state-adapter.ts'
import { type Clock, sleep } from './clock.ts'
import { checkVariableKey, RESERVED_PREFIX } from './reserved-variables.ts'

/** The keys of jobs that have none of their own: a node that begins anew finds its job. */
const OWN_KEY = `${RESERVED_PREFIX}Idempotency`

export interface WorkerJobParts {
  readonly runId: string
  readonly nodeId: string
  readonly adapter: WorkflowStateAdapter
  readonly clock: Clock
  /** The attempt's. */
  readonly signal: AbortSignal
  /** Calls the store as the other writes of a run do. */
  readonly write: <T>(method: string, call: () => Promise<T>) => Promise<T>
}

/**
 * Hands a job out and waits until an external worker has ended it. When the step's time is over the job is cancelled; when only this
 * process stops it is not, since whoever goes on with the run waits for it again.
 *
 * @throws StarflowError SF942 where jobs cannot be kept, SF945 for one that failed; NonRetryableError when no attempt can help
 */
export async function doWorkerJob(job: WorkerJob, parts: WorkerJobParts): Promise<Json> {
  const { runId, nodeId, clock, signal, write } = parts
  if (job.idempotencyKey !== undefined) checkVariableKey(job.idempotencyKey)
  const store = storeOf(parts.adapter)
  const { kind, payload, idempotencyKey = `${OWN_KEY}:${nodeId}` } = job
  let record = await write('enqueueWorkerJob', () =>
    store.enqueueWorkerJob(runId, nodeId, { kind, payload, idempotencyKey }),
  )
  const { jobId } = record
  while (record.status === 'queued' || record.status === 'leased') {
    await sleep(clock, WORKER_JOB_POLL_MS, signal)
    if (signal.aborted) {
      if (isStarflowError(signal.reason, 'SF407')) await store.cancelWorkerJob(jobId).catch(() => {})
      throw signal.reason
    }
    // A poll that fails is followed by another one: the lease says when the store is gone for good.
    record = (await store.readWorkerJob(jobId).catch(() => undefined)) ?? record
  }
  return resultOf(record, kind)
}

function resultOf({ jobId, status, result, error, isPermanent }: WorkerJobRecord, kind: string): Json {
  if (status === 'completed') return result
  const failure = new StarflowError({
    code: 'SF945',
    message: error ?? 'The job was cancelled.',
    detail: `An external worker ended job ${jobId} of kind "${kind}" with this.`,
    hint: 'See the log of the worker. The retries of the step hand the job out again.',
    fields: { jobId, kind },
  })
  throw isPermanent ? new NonRetryableError(failure.message, { cause: failure }) : failure
}

function storeOf(adapter: WorkflowStateAdapter): WorkerJobStore {
  const { enqueueWorkerJob, readWorkerJob, cancelWorkerJob } = adapter
  if (enqueueWorkerJob !== undefined && readWorkerJob !== undefined && cancelWorkerJob !== undefined) {
    return adapter as WorkerJobStore
  }
  throw new NonRetryableError(`Worker jobs cannot be kept on ${adapter.substrate}.`, {
    cause: new StarflowError({
      code: 'SF942',
      message: `Worker jobs cannot be kept on ${adapter.substrate}.`,
      detail: 'External workers reach them through a server, which shares a database with the runners.',
      hint: 'Run flows with external steps on Supabase, or on the local platform.',
    }),
  })
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '@starflow/core'
import { isConnectionLoss } from '@starflow/core'
import { StarflowError } from '@starflow/errors'

/** A worker that has not stopped and is heard of. */
export interface AliveWorker {
  readonly workerId: string
  readonly functionName: string
  readonly queueName: string
  readonly isDeprecated: boolean
}

export interface DrainOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Called when the number of workers that are still there changes. */
  readonly onProgress: (workers: readonly AliveWorker[]) => void
}

const POLL_MS = 250

/** The workers of these functions that still live, deprecated ones included. */
export async function aliveWorkers(sql: Sql, functionNames: readonly string[]): Promise<AliveWorker[]> {
  return await sql<AliveWorker[]>`
    select worker_id as "workerId", function_name as "functionName", queue_name as "queueName",
           deprecated_at is not null as "isDeprecated"
    from pgflow.workers w
    where function_name = any (${[...functionNames]}) and stopped_at is null and pgflow._heartbeat_is_fresh(w)
    order by function_name, started_at`
}

/**
 * Tells the workers of these functions to end and waits until none lives. A worker that comes up meanwhile is told too. A lost
 * connection only makes it look again.
 *
 * @throws StarflowError SF633 when some still live after the timeout; AbortError when the signal comes first
 */
export async function drain(sql: Sql, functionNames: readonly string[], options: DrainOptions): Promise<void> {
  const deadline = performance.now() + options.timeoutMs
  let shown = -1
  const look = async () => {
    await sql`select pgflow.deprecate_workers(${[...functionNames]})`
    return await aliveWorkers(sql, functionNames)
  }
  for (;;) {
    const alive = await unlessAborted(look(), options.signal).catch((error: unknown) => {
      if (!isConnectionLoss(error) || performance.now() >= deadline) throw error
    })
    if (alive !== undefined) {
      if (alive.length !== shown) options.onProgress(alive)
      shown = alive.length
      if (alive.length === 0) return
      if (performance.now() >= deadline) throw drainTimeout(alive, options.timeoutMs)
    }
    await sleep(POLL_MS, undefined, { signal: options.signal })
  }
}

/** A question may hang, on a network that went away without a word. */
async function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true, signal: over.signal })
  })
  try {
    return await Promise.race([answer, aborted])
  } finally {
    over.abort()
  }
}

function drainTimeout(alive: readonly AliveWorker[], timeoutMs: number): StarflowError {
  return new StarflowError({
    code: 'SF633',
    message: `${alive.length} workers have not ended within ${timeoutMs / 1000} s.`,
    detail: alive.map((each) => `${each.workerId} of ${each.functionName}`).join(', '),
    hint: 'They finish what they have started: give them longer with --drain-timeout. Nothing was deployed, the fence is lifted.',
    fields: { workers: alive.map((each) => each.workerId) },
  })
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '@starflow/core'
import { StarflowError } from '@starflow/errors'

const POLL_MS = 200
const TIMEOUT_MS = 60_000

/**
 * Waits until a worker of the flow has registered after `since`. A worker registers only once it has compiled the flow or
 * found it equal, so runs that are started from then on keep the definition of the code that is there now.
 *
 * @throws StarflowError SF604 when none comes within a minute, with what the worker functions reported
 */
export async function waitForWorkers(
  sql: Sql,
  flowSlug: string,
  { since, signal, timeoutMs = TIMEOUT_MS }: { since: Date; signal: AbortSignal; timeoutMs?: number },
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await hasFreshWorker(sql, flowSlug, since))) {
    if (Date.now() >= deadline) throw await noWorker(sql, flowSlug, timeoutMs)
    await sleep(POLL_MS, undefined, { signal })
  }
}

async function hasFreshWorker(sql: Sql, flowSlug: string, since: Date): Promise<boolean> {
  const [row] = await sql<[{ isThere: boolean }]>`
    select exists (
      select from pgflow.workers
      join pgflow.steps on steps.queue_name = workers.queue_name
      where steps.flow_slug = ${flowSlug} and workers.started_at >= ${since} and workers.stopped_at is null
    ) as "isThere"
  `
  return row.isThere
}

async function noWorker(sql: Sql, flowSlug: string, timeoutMs: number): Promise<StarflowError> {
  const failures = await sql<{ name: string; error: string }[]>`
    select function_name as name, last_error as error
    from pgflow.worker_functions
    where last_error is not null
    order by last_error_at desc
    limit 3
  `
  return new StarflowError({
    code: 'SF604',
    message: `No worker of flow "${flowSlug}" has started within ${timeoutMs / 1_000} s.`,
    detail:
      failures.map(({ name, error }) => `${name}: ${error}`).join('; ') || 'No worker function reported an error.',
    hint: 'Look at the messages of the worker functions above.',
    fields: { flowSlug },
  })
}

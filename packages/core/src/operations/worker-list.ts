import type { Sql } from 'postgres'

/** A worker as an operator sees it. */
export interface ListedWorker {
  readonly workerId: string
  readonly functionName: string
  readonly queueName: string
  /** live, finishing (told to stop), silent (no heartbeat, not stopped) or stopped. */
  readonly state: 'live' | 'finishing' | 'silent' | 'stopped'
  readonly startedAt: Date
  readonly ageSeconds: number
  readonly heartbeatSecondsAgo: number
}

/** Workers that live or are finishing, the youngest first; with `all` also those that have stopped or fallen silent. */
export async function readWorkers(
  sql: Sql,
  options: { readonly all: boolean; readonly limit: number },
): Promise<ListedWorker[]> {
  const { all, limit } = options
  return await sql<ListedWorker[]>`
    select * from (
      select worker_id as "workerId", function_name as "functionName", queue_name as "queueName",
             case when stopped_at is not null then 'stopped'
                  when not pgflow._heartbeat_is_fresh(w) then 'silent'
                  when deprecated_at is not null then 'finishing'
                  else 'live' end as state,
             started_at as "startedAt", extract(epoch from now() - started_at)::float8 as "ageSeconds",
             extract(epoch from now() - last_heartbeat_at)::float8 as "heartbeatSecondsAgo"
      from pgflow.workers w
      where ${all} or stopped_at is null
    ) x
    where ${all} or state in ('live', 'finishing')
    order by "startedAt" desc
    limit ${limit}`
}

import type { Sql } from '../database/sql.ts'

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
  /** How many tasks it has ended, as of its last report; null where it does not tell. */
  readonly tasks: number | null
  /** The isolate or process that it lives in. */
  readonly executionId: string
  /** How many workers live there, or have lived there, this one among them. */
  readonly workersInExecution: number
  /** CPU of that isolate since its boot, or of that process since its start; null where nobody has measured it. */
  readonly cpuMs: number | null
  /** That CPU by the tasks of all workers in it; null where it was not measured, or there were none. */
  readonly cpuMsPerTask: number | null
}

/** Workers that live or are finishing, the youngest first; with `all` also those that have stopped or fallen silent. */
export async function readWorkers(
  sql: Sql,
  options: { readonly all: boolean; readonly limit: number },
): Promise<ListedWorker[]> {
  const { all, limit } = options
  return await sql<ListedWorker[]>`
    with listed as (
      select * from (
        select worker_id as "workerId", function_name as "functionName", queue_name as "queueName",
               case when stopped_at is not null then 'stopped'
                    when not pgflow._heartbeat_is_fresh(w) then 'silent'
                    when deprecated_at is not null then 'finishing'
                    else 'live' end as state,
               started_at as "startedAt", extract(epoch from now() - started_at)::float8 as "ageSeconds",
               extract(epoch from now() - last_heartbeat_at)::float8 as "heartbeatSecondsAgo",
               tasks_count as tasks, coalesce(execution_id, worker_id) as "executionId"
        from pgflow.workers w
        where ${all} or stopped_at is null
      ) x
      where ${all} or state in ('live', 'finishing')
      order by "startedAt" desc
      limit ${limit}
    )
    select l.*, u.worker_count as "workersInExecution", u.cpu_ms::float8 as "cpuMs",
           u.cpu_ms::float8 / nullif(u.tasks_count, 0) as "cpuMsPerTask"
    from listed l
    cross join lateral pgflow._execution_usage(l."executionId") u
    order by "startedAt" desc`
}

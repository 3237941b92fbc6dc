import type { Sql } from 'postgres'

/** A queue of a flow or of a queue worker, with what waits in it. */
export interface QueueDepth {
  readonly queueName: string
  /** Whose routes lead there, as `flow.step`; empty for the queue of a queue worker. */
  readonly steps: readonly string[]
  /** Messages, counted up to 1000. Null: the queue is gone. */
  readonly depth: number | null
  readonly oldestSeconds: number | null
  readonly liveWorkers: number
}

/** Every queue that a route leads to, or a worker function serves. */
export async function readQueues(sql: Sql): Promise<QueueDepth[]> {
  return await sql<QueueDepth[]>`
    select q.queue_name as "queueName",
           array(select s.flow_slug || '.' || s.step_slug from pgflow._routes s where s.queue_name = q.queue_name
                 order by s.flow_slug, s.step_index) as steps,
           d.depth, extract(epoch from d.oldest_age)::float8 as "oldestSeconds",
           (select count(*)::integer from pgflow.workers w where w.queue_name = q.queue_name and w.stopped_at is null
              and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)) as "liveWorkers"
    from (select queue_name from pgflow._routes union select queue_name from pgflow.worker_function_queues) q
    left join lateral pgflow._queue_depth(q.queue_name) d on true
    order by q.queue_name`
}

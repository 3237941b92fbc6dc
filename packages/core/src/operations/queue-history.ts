import type { Sql } from '../database/sql.ts'

/** A queue at an instant, or in a stretch of time whose samples were put together. */
export interface QueueSample {
  readonly sampledAt: Date
  /** The largest. Counted up to 10 000. */
  readonly depth: number
  readonly inFlight: number
  readonly oldestSeconds: number | null
  /** The fewest. */
  readonly liveWorkers: number
  /** Messages archived since the sample before; null where that is not known. */
  readonly done: number | null
  readonly donePerMinute: number | null
}

export interface HistoryRange {
  readonly from: Date
  readonly to: Date
  /** About how many points at most. */
  readonly points: number
}

/** The samples of a queue, in order: once a minute, for a week, where the sampling is scheduled. */
export async function readQueueHistory(sql: Sql, queueName: string, range: HistoryRange): Promise<QueueSample[]> {
  return await sql<QueueSample[]>`
    select sampled_at as "sampledAt", depth, in_flight as "inFlight", oldest_seconds as "oldestSeconds",
           live_workers as "liveWorkers", done, done_per_minute as "donePerMinute"
    from starflow.queue_history(${queueName}, ${range.from}, ${range.to}, ${range.points})`
}

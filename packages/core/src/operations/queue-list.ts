import type { Sql } from '../database/sql.ts'

/** A queue of a flow or of a queue worker, with what waits in it and who serves it. */
export interface ListedQueue {
  readonly queueName: string
  /** Whose routes lead there, as `flow.step`; empty for the queue of a queue worker. */
  readonly steps: readonly string[]
  /** Messages, counted up to 10 000. Null: the queue is gone. */
  readonly depth: number | null
  /** Those that a worker has taken and not settled, among the oldest 10 000. */
  readonly inFlight: number | null
  readonly oldestSeconds: number | null
  /** How long the message that is visible for longest could have been taken; null: none could be. */
  readonly waitingSeconds: number | null
  /** Tasks past their recovery boundary, counted up to 1000. */
  readonly stalled: number
  /** Messages that no task knows, among the oldest 1000; null of a queue worker's queue, where no message has a task. */
  readonly unsupported: number | null
  readonly liveWorkers: number
  readonly functions: readonly string[]
  /** True where all of its functions are disabled. */
  readonly isFenced: boolean
  readonly fence: string | null
  /** Since about a minute ago; null where the queue has no samples. */
  readonly donePerMinute: number | null
}

/** Work that could have been taken for longer than this waits for somebody who does not come. */
const WAITING_TROUBLE_SECONDS = 60

export const QUEUE_TROUBLES = ['gone', 'fenced', 'no_worker', 'stalled', 'waiting', 'unsupported'] as const
/** What is wrong with a queue: an empty one is well without a worker too. */
export type QueueTrouble = (typeof QUEUE_TROUBLES)[number]

/** Every queue that a route leads to, or a worker function serves. */
export async function readQueues(sql: Sql): Promise<ListedQueue[]> {
  return await sql<ListedQueue[]>`
    select queue_name as "queueName", steps, depth, in_flight as "inFlight",
           extract(epoch from oldest_age)::float8 as "oldestSeconds", extract(epoch from waiting_age)::float8 as "waitingSeconds",
           stalled, unsupported, live_workers as "liveWorkers", function_names as functions, is_fenced as "isFenced", fence,
           done_per_minute as "donePerMinute"
    from starflow.list_queues()`
}

/** What is wrong with a queue, the worst first. */
export function queueTroubles(queue: ListedQueue): QueueTrouble[] {
  const hasWork = (queue.depth ?? 0) > 0
  const found: Readonly<Record<QueueTrouble, boolean>> = {
    gone: queue.depth === null,
    fenced: hasWork && queue.isFenced,
    no_worker: hasWork && !queue.isFenced && queue.liveWorkers === 0,
    stalled: queue.stalled > 0,
    waiting: (queue.waitingSeconds ?? 0) > WAITING_TROUBLE_SECONDS,
    unsupported: (queue.unsupported ?? 0) > 0,
  }
  return QUEUE_TROUBLES.filter((trouble) => found[trouble])
}

import type { Json } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'

/** A row of starflow.queue_run_events, with its instant to the microsecond. */
export interface QueueEventRow {
  readonly happened_at: Date
  readonly at_us: string
  readonly event_type: string
  readonly node_id: string | null
  readonly attempt: number
  readonly payload: Json
}

/**
 * The id of an event that is read off tables: made of what it is, so that it is the same whenever it is read, and beginning
 * with its instant, so that it says where to go on.
 */
export function queueEventId(row: QueueEventRow): string {
  return [row.at_us, row.event_type, row.node_id ?? '', row.attempt].join(':')
}

/** What an event is placed by among those of its run. */
export interface QueueEventParts {
  /** Its instant, in microseconds since 1970. */
  readonly atUs: bigint
  readonly type: string
  readonly node: string
  readonly attempt: number
}

/** @throws StarflowError SF902 */
export function queueEventParts(id: string): QueueEventParts {
  const [, atUs, type, node, attempt] = /^(\d{1,18}):([a-z_]+):([^:]*):(\d{1,9})$/.exec(id) ?? []
  if (atUs !== undefined) return { atUs: BigInt(atUs), type: type!, node: node!, attempt: Number(attempt) }
  throw new StarflowError({
    code: 'SF902',
    message: 'The query of the request is not valid.',
    detail: 'after: this is no id of an event of this run.',
    hint: 'Give the id of the last event that was read, or leave it out.',
  })
}

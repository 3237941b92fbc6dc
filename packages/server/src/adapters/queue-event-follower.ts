import { EVENT_OVERLAP_MS } from '../numbers.ts'
import type { EventFollower, RunEventView } from '../runs/run-placement.ts'
import { queueEventParts } from './queue-event-id.ts'

/**
 * Follows the events of a run on step queues. They carry the instant at which their transaction began, and a later one may
 * commit first; so each look goes back a while, and leaves out what was given already.
 */
export class QueueEventFollower implements EventFollower {
  readonly #read: (sinceUs: bigint | undefined) => Promise<readonly RunEventView[]>
  readonly #given = new Set<string>()
  #after: string | undefined

  constructor(read: (sinceUs: bigint | undefined) => Promise<readonly RunEventView[]>, after: string | undefined) {
    this.#read = read
    this.#after = after
  }

  async next(): Promise<readonly RunEventView[]> {
    const isFirst = this.#given.size === 0
    const newest = this.#after === undefined ? undefined : queueEventParts(this.#after).atUs
    const events = await this.#read(newest === undefined ? undefined : newest - BigInt(EVENT_OVERLAP_MS) * 1000n)
    if (isFirst && this.#after !== undefined) {
      // What came before the event that the caller had last, it has.
      const last = events.findIndex(({ id }) => id === this.#after)
      for (const { id } of events.slice(0, last + 1)) this.#given.add(id)
    }
    const fresh = events.filter(({ id }) => !this.#given.has(id))
    for (const { id } of fresh) this.#given.add(id)
    this.#after = events.at(-1)?.id ?? this.#after
    return fresh
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { RunEvent, RunReads } from '@starflow/engine'

/** How often a store is asked for what happened. */
const FOLLOW_INTERVAL_MS = 250
const PAGE = 1000

/**
 * Tells the events of a run in their order, as they are in the store: what a run shows while it is executed here is what anybody else
 * sees of it.
 */
export class EventFollower {
  readonly #reads: Pick<RunReads, 'readEvents'>
  readonly #runId: string
  readonly #tell: (events: readonly RunEvent[]) => void
  #afterId: string | undefined
  #reading: Promise<void> = Promise.resolve()

  constructor(reads: Pick<RunReads, 'readEvents'>, runId: string, tell: (events: readonly RunEvent[]) => void) {
    this.#reads = reads
    this.#runId = runId
    this.#tell = tell
  }

  /** Tells what is new. */
  catchUp(): Promise<void> {
    // A look that failed is no reason not to look again.
    this.#reading = this.#reading.catch(() => {}).then(() => this.#read())
    return this.#reading
  }

  /** Tells what is new again and again until the work is done, and all of it then. */
  async during<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController()
    const done = work.finally(() => over.abort())
    // Its failure is the caller's, below.
    done.catch(() => {})
    while (!over.signal.aborted) {
      // What cannot be read now is read with the next look; the last one, below, has to succeed.
      await this.catchUp().catch(() => {})
      await sleep(FOLLOW_INTERVAL_MS, undefined, { signal: over.signal }).catch(() => {})
    }
    await this.catchUp()
    return await done
  }

  async #read(): Promise<void> {
    for (;;) {
      const events = await this.#reads.readEvents(this.#runId, { afterId: this.#afterId, limit: PAGE })
      if (events.length > 0) this.#tell(events)
      this.#afterId = events.at(-1)?.id ?? this.#afterId
      if (events.length < PAGE) return
    }
  }
}

import { type Clock, isDoneWithin, sleep } from '../engine/clock.ts'
import type { Service } from './service.ts'

export interface RepeatingTaskOptions {
  readonly clock: Clock
  /** Between the end of one time and the begin of the next; where it changes, it is asked for each time. */
  readonly intervalMs: number | (() => number)
  readonly once: () => Promise<void>
  /** One time that goes on for longer is a failure, and is not waited for. Default: it may take as long as it likes. */
  readonly patienceMs?: number
  /** Said, not thrown: the next time may succeed. */
  readonly onFailure: (error: unknown) => void
}

/** Does something at once and then again and again, never twice at the same time. */
export class RepeatingTask implements Service {
  readonly #options: RepeatingTaskOptions
  readonly #stopping = new AbortController()
  #nap = new AbortController()
  #isAwaited = false
  #done: Promise<void> | undefined

  constructor(options: RepeatingTaskOptions) {
    this.#options = options
  }

  start(): void {
    this.#done ??= this.#repeat()
  }

  /** The next time is now; or, while one is going on, right after it. */
  wake(): void {
    this.#isAwaited = true
    this.#nap.abort()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#nap.abort()
    await this.#done
  }

  async #repeat(): Promise<void> {
    const { clock, intervalMs, onFailure } = this.#options
    while (!this.#stopping.signal.aborted) {
      this.#isAwaited = false
      try {
        await this.#once()
      } catch (error) {
        onFailure(error)
      }
      if (this.#isAwaited || this.#stopping.signal.aborted) continue
      this.#nap = new AbortController()
      await sleep(clock, typeof intervalMs === 'number' ? intervalMs : intervalMs(), this.#nap.signal)
    }
  }

  async #once(): Promise<void> {
    const { clock, once, patienceMs } = this.#options
    if (patienceMs === undefined) return await once()
    const work = once()
    // What it fails with after that, nobody hears.
    work.catch(() => {})
    if (!(await isDoneWithin(clock, patienceMs, work))) throw new Error(`There was no answer within ${patienceMs} ms.`)
  }
}

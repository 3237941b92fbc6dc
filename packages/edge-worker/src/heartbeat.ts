import { CLAIM_BEATS_AFTER_MS, HEARTBEAT_HEDGE_MS, HEARTBEAT_INTERVAL_MS } from './numbers.ts'
import type { WorkerState } from './worker-sql.ts'

export interface HeartbeatOptions {
  /** Sends one on the worker's own connection. */
  readonly beat: () => Promise<WorkerState>
  /** Sends one elsewhere; used when the own connection is held up by a slow poll. */
  readonly beatElsewhere?: () => Promise<WorkerState>
  readonly onState: (state: WorkerState) => void
  readonly onFailure: (error: unknown) => void
}

/**
 * Says every 5 s that this worker lives, by its own timer: neither polls nor handlers hold it up. A claim says it too, so
 * an idle worker sends none: each time a claim has counted, the timer begins anew.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  readonly #now: () => number
  #timer: ReturnType<typeof setTimeout> | undefined
  #isBeating = false
  #isStarted = false
  /** When the last call was sent that is known to have counted. */
  #heardAt = 0

  constructor(options: HeartbeatOptions, now: () => number = () => performance.now()) {
    this.#options = options
    this.#now = now
  }

  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#heard(this.#now())
  }

  stop(): void {
    this.#isStarted = false
    clearTimeout(this.#timer)
  }

  /** A claim that was sent at `sentAt` has been answered with work, or with none. */
  claimed(sentAt: number): void {
    // The database writes a claim down only when the last sign of life is older than 3 s.
    if (this.#isStarted && sentAt - this.#heardAt >= CLAIM_BEATS_AFTER_MS) this.#heard(sentAt)
  }

  #heard(sentAt: number): void {
    this.#heardAt = sentAt
    if (!this.#isBeating) this.#arm(sentAt + HEARTBEAT_INTERVAL_MS - this.#now())
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#isStarted) this.#timer = setTimeout(() => void this.#beat(), Math.max(0, ms))
  }

  async #beat(): Promise<void> {
    const sentAt = this.#now()
    this.#isBeating = true
    try {
      const state = await this.#send()
      this.#heardAt = Math.max(this.#heardAt, sentAt)
      if (this.#isStarted) this.#options.onState(state)
    } catch (error) {
      if (this.#isStarted) this.#options.onFailure(error)
    } finally {
      this.#isBeating = false
      this.#arm(Math.max(sentAt, this.#heardAt) + HEARTBEAT_INTERVAL_MS - this.#now())
    }
  }

  /** A heartbeat may be sent twice; whichever arrives first counts. */
  async #send(): Promise<WorkerState> {
    const { beat, beatElsewhere } = this.#options
    const own = beat()
    if (beatElsewhere === undefined) return own
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<WorkerState>((resolve, reject) => {
      timer = setTimeout(() => beatElsewhere().then(resolve, reject), HEARTBEAT_HEDGE_MS)
      // A quick failure is the answer: nothing is gained by asking elsewhere two seconds later.
      own.catch(reject)
    })
    try {
      return await Promise.any([own, late])
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error
    } finally {
      clearTimeout(timer)
    }
  }
}

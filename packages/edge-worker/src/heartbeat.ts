import { HEARTBEAT_HEDGE_MS, HEARTBEAT_INTERVAL_MS } from './numbers.ts'
import type { WorkerState } from './worker-sql.ts'

export interface HeartbeatOptions {
  /** Sends one on the worker's own connection. */
  readonly beat: () => Promise<WorkerState>
  /** Sends one elsewhere; used when the own connection is held up by a slow poll. */
  readonly beatElsewhere?: () => Promise<WorkerState>
  readonly onState: (state: WorkerState) => void
  readonly onFailure: (error: unknown) => void
}

/** Says every 5 s that this worker lives, by its own timer: neither polls nor handlers hold it up. */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  #timer: ReturnType<typeof setInterval> | undefined
  #inFlight = false

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#tick(), HEARTBEAT_INTERVAL_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #tick(): Promise<void> {
    if (this.#inFlight) return
    this.#inFlight = true
    try {
      const state = await this.#send()
      if (this.#timer !== undefined) this.#options.onState(state)
    } catch (error) {
      if (this.#timer !== undefined) this.#options.onFailure(error)
    } finally {
      this.#inFlight = false
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

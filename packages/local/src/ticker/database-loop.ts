import { setTimeout as delay } from 'node:timers/promises'
import type { TickerEventListener } from './ticker-event.ts'

export interface DatabaseLoopOptions {
  /** Names the loop in events. */
  readonly name: string
  readonly intervalMs: number
  /** One pass. What it throws counts as a database that cannot be reached. */
  readonly pass: () => Promise<void>
  readonly onEvent: TickerEventListener
}

const MAX_BACKOFF_MS = 5_000

/** Runs a pass each interval, or at once when woken; backs off while passes fail, and tells once that they do. */
export class DatabaseLoop {
  readonly #options: DatabaseLoopOptions
  #running: Promise<void> | undefined
  #isStopping = false
  #wake: AbortController | undefined
  #isWoken = false

  constructor(options: DatabaseLoopOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#running !== undefined) return
    this.#isStopping = false
    this.#running = this.#run()
  }

  /** Settles when the pass that runs now is over. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#wake?.abort()
    await this.#running
    this.#running = undefined
  }

  /** Runs a pass now; while one runs, another one right after it. */
  wake(): void {
    this.#isWoken = true
    this.#wake?.abort()
  }

  async #run(): Promise<void> {
    const { name, intervalMs, pass, onEvent } = this.#options
    let failures = 0
    let due = performance.now()
    while (!this.#isStopping) {
      this.#isWoken = false
      try {
        await pass()
        if (failures > 0) onEvent({ type: 'ticker.database_back', loop: name })
        failures = 0
      } catch (error) {
        if (this.#isStopping) return
        failures++
        const retryInMs = Math.min(intervalMs * 2 ** (failures - 1), MAX_BACKOFF_MS)
        const message = error instanceof Error ? error.message : String(error)
        if (failures === 1) onEvent({ type: 'ticker.database_lost', loop: name, message, retryInMs })
        await this.#sleep(retryInMs)
        due = performance.now()
        continue
      }
      // On a grid, so that a pass that takes its time does not make a job of one second slower.
      due = Math.max(due + intervalMs, performance.now() - intervalMs)
      if (!this.#isWoken) await this.#sleep(due - performance.now())
    }
  }

  async #sleep(ms: number): Promise<void> {
    if (ms <= 0 || this.#isStopping) return
    const wake = new AbortController()
    this.#wake = wake
    await delay(ms, undefined, { signal: wake.signal }).catch(() => {})
    this.#wake = undefined
  }
}

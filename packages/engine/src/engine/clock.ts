import { MAX_TIMER_MS } from '../numbers.ts'

/** Time as the engine uses it: how much has passed, never which time it is. Tests and schedules bring their own. */
export interface Clock {
  /** Milliseconds of a clock that only goes forward. */
  now(): number
  /** Calls back once, after so long. Gives a function that takes it back. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), MAX_TIMER_MS))
    return () => clearTimeout(timer)
  },
}

/** Resolves after so long, or at once when the signal is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const wake = () => {
      takeBack()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const takeBack = clock.after(ms, wake)
    signal?.addEventListener('abort', wake)
  })
}

/** Waits for the work, but no longer than this. False: it goes on. @throws what the work fails with by then */
export function isDoneWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const takeBack = clock.after(ms, () => resolve(false))
    work.then(() => resolve(true), reject).finally(takeBack)
  })
}

/**
 * The database's time, as far as this process can know it: what the database said once, and what has passed since by a clock
 * that only goes forward. Which time this computer believes it is plays no part.
 */
export class DatabaseTime {
  readonly #clock: Clock
  readonly #offsetMs: number

  constructor(clock: Clock, databaseNowMs: number) {
    this.#clock = clock
    this.#offsetMs = databaseNowMs - clock.now()
  }

  now(): number {
    return this.#clock.now() + this.#offsetMs
  }
}

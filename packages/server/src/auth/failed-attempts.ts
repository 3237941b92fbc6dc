import { FAILED_ATTEMPTS_WINDOW_MS, MAX_FAILED_ATTEMPTS, MAX_REMEMBERED_CALLERS } from '../numbers.ts'

/**
 * Counts failed authentications by address, over a window that begins with the first of them. Memory is bounded: when too
 * many addresses are remembered, the one that began longest ago is forgotten.
 */
export class FailedAttempts {
  readonly #now: () => number
  readonly #byAddress = new Map<string, { since: number; count: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Milliseconds until this address may try again; 0 when it may now. */
  waitMs(address: string): number {
    const attempts = this.#current(address)
    if (attempts === undefined || attempts.count < MAX_FAILED_ATTEMPTS) return 0
    return attempts.since + FAILED_ATTEMPTS_WINDOW_MS - this.#now()
  }

  record(address: string): void {
    const attempts = this.#current(address) ?? { since: this.#now(), count: 0 }
    attempts.count++
    this.#byAddress.set(address, attempts)
    if (this.#byAddress.size <= MAX_REMEMBERED_CALLERS) return
    // A Map keeps the order of insertion, and that is the order in which windows begin.
    const [oldest] = this.#byAddress.keys()
    this.#byAddress.delete(oldest!)
  }

  #current(address: string): { since: number; count: number } | undefined {
    const attempts = this.#byAddress.get(address)
    if (attempts === undefined || attempts.since + FAILED_ATTEMPTS_WINDOW_MS > this.#now()) return attempts
    this.#byAddress.delete(address)
    return undefined
  }
}

import type { Clock } from '../engine/clock.ts'

/**
 * Whether the store answers this process, and for how long it has. While it is away, leases run out although their runners
 * live; so a process judges no lease before the store has answered long enough for every live runner to renew its own.
 */
export class StoreContact {
  readonly #clock: Clock
  readonly #settleMs: number
  /** Undefined while it does not answer. */
  #answersSince: number | undefined
  #isAnswering = true

  /**
   * @param settleMs how long the store has to answer before leases may be judged
   * @param isRemote at the start nothing is known of a store behind a network; a file was never away
   */
  constructor(clock: Clock, { settleMs, isRemote }: { readonly settleMs: number; readonly isRemote: boolean }) {
    this.#clock = clock
    this.#settleMs = settleMs
    this.#answersSince = isRemote ? undefined : Number.NEGATIVE_INFINITY
  }

  /** False after a call that failed, until one succeeds. */
  get isAnswering(): boolean {
    return this.#isAnswering
  }

  /** Whether every live runner has had the time to renew its leases. */
  get isSettled(): boolean {
    return this.#answersSince !== undefined && this.#clock.now() - this.#answersSince >= this.#settleMs
  }

  /** Makes a call, and learns from whether it is answered. */
  async watch<T>(call: () => Promise<T>): Promise<T> {
    try {
      const answer = await call()
      this.#isAnswering = true
      this.#answersSince ??= this.#clock.now()
      return answer
    } catch (error) {
      this.#isAnswering = false
      this.#answersSince = undefined
      throw error
    }
  }
}

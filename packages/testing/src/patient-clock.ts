import type { Clock } from '@starflow/engine'

/**
 * Time that nobody waits for: while a handler is at work it passes as it does outside, and while none is, it jumps to what is
 * waited for next, the delay before a retry say.
 */
export class PatientClock implements Clock {
  readonly #timers = new Map<object, { readonly atMs: number; readonly callback: () => void }>()
  #skippedMs = 0
  #working = 0
  #alarm: NodeJS.Timeout | undefined
  #look: NodeJS.Immediate | undefined

  /** In milliseconds since 1970. */
  now(): number {
    return performance.timeOrigin + performance.now() + this.#skippedMs
  }

  after(ms: number, callback: () => void): () => void {
    const key = {}
    this.#timers.set(key, { atMs: this.now() + Math.max(ms, 0), callback })
    this.#arm()
    return () => {
      this.#timers.delete(key)
      this.#arm()
    }
  }

  /** Time passes as it does outside until the work settles. */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    this.#working++
    try {
      return await work()
    } finally {
      this.#working--
      this.#arm()
    }
  }

  /** Jumps there; never back. */
  advanceTo(ms: number): void {
    this.#skippedMs += Math.max(ms - this.now(), 0)
  }

  /** Nobody waits any longer. */
  stop(): void {
    this.#timers.clear()
    this.#arm()
  }

  #arm(): void {
    clearTimeout(this.#alarm)
    clearImmediate(this.#look)
    const next = this.#next()
    if (next === undefined) return
    this.#alarm = setTimeout(() => this.#ring(), Math.max(next.atMs - this.now(), 0))
    // Whoever sets a timer and does not take it back at once has nothing to do but wait.
    if (this.#working === 0) this.#look = setImmediate(() => this.#skip())
  }

  #skip(): void {
    const next = this.#next()
    if (this.#working > 0 || next === undefined) return
    this.advanceTo(next.atMs)
    this.#ring()
  }

  #ring(): void {
    const next = this.#next()
    if (next !== undefined && next.atMs <= this.now()) {
      this.#timers.delete(next.key)
      next.callback()
    }
    this.#arm()
  }

  #next() {
    const [first] = [...this.#timers].sort(([, one], [, other]) => one.atMs - other.atMs)
    return first && { key: first[0], ...first[1] }
  }
}

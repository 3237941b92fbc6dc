import type { Clock } from '../../src/engine/clock.ts'

/** Time that passes only when it is told to: it jumps to the next timer whenever nothing else is left to do. */
export class VirtualClock implements Clock {
  readonly #timers = new Map<object, { readonly atMs: number; readonly callback: () => void }>()
  #nowMs = 0

  now(): number {
    return this.#nowMs
  }

  after(ms: number, callback: () => void): () => void {
    const key = {}
    this.#timers.set(key, { atMs: this.#nowMs + Math.max(ms, 0), callback })
    return () => this.#timers.delete(key)
  }

  /** Jumps to the earliest timer; false when there is none. */
  jump(): boolean {
    const [next] = [...this.#timers].sort(([, one], [, other]) => one.atMs - other.atMs)
    if (next === undefined) return false
    const [key, { atMs, callback }] = next
    this.#timers.delete(key)
    this.#nowMs = Math.max(this.#nowMs, atMs)
    callback()
    return true
  }
}

/** Runs until the promise settles; time passes while nothing else happens. */
export async function inVirtualTime<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isSettled = false
  const settled = work.finally(() => {
    isSettled = true
  })
  settled.catch(() => {})
  while (!isSettled) {
    // Whatever the store does in between takes turns of the event loop.
    for (let turn = 0; turn < 20 && !isSettled; turn++) await new Promise((resolve) => setImmediate(resolve))
    if (!isSettled) clock.jump()
  }
  return await settled
}

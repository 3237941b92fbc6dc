/** Tells many that a second has passed with one timer, which stops when nobody listens. */
export class Ticker {
  readonly #listeners = new Set<() => void>()
  readonly #intervalMs: number
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    this.#timer ??= setInterval(() => {
      for (const each of this.#listeners) each()
    }, this.#intervalMs)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }
}

import { MAX_TIMER_MS } from './numbers.ts'

/** A sleep that can be cut short. A wake without a sleeper cuts the next sleep, so none is lost in between. */
export class Waker {
  #woken = false
  #wakeSleeper: (() => void) | undefined

  wake(): void {
    if (this.#wakeSleeper === undefined) this.#woken = true
    else this.#wakeSleeper()
  }

  /** Forgets a wake that nobody slept through: the caller looks at everything now. */
  forget(): void {
    this.#woken = false
  }

  /** Sleeps `ms` at most; Infinity sleeps until woken. */
  sleep(ms: number): Promise<void> {
    if (this.#woken || ms <= 0) {
      this.#woken = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const timer =
        ms === Number.POSITIVE_INFINITY
          ? undefined
          : setTimeout(() => this.#wakeSleeper?.(), Math.min(ms, MAX_TIMER_MS))
      this.#wakeSleeper = () => {
        clearTimeout(timer)
        this.#wakeSleeper = undefined
        resolve()
      }
    })
  }
}

import { LATE_TIMER_MS } from './database-limits.ts'

/** The time that a call has. */
export class CallLimit {
  /** A call that waits for a connection can be refused; one that has a connection may have been heard. */
  hasConnection = false
  readonly #timeoutMs: number
  readonly #expired: () => Error
  readonly #over: Promise<never>
  #reject: (error: Error) => void = () => {}
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(timeoutMs: number, expired: () => Error) {
    this.#timeoutMs = timeoutMs
    this.#expired = expired
    this.#over = new Promise((_, reject) => {
      this.#reject = reject
    })
    this.#over.catch(() => {})
    this.#arm()
  }

  /** The answer, or what the limit rejects with. */
  race<T>(answer: Promise<T>): Promise<T> {
    return Promise.race([answer, this.#over])
  }

  reject(error: Error): void {
    this.end()
    this.#reject(error)
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #arm(): void {
    const dueAt = performance.now() + this.#timeoutMs
    this.#timer = setTimeout(() => {
      if (performance.now() > dueAt + LATE_TIMER_MS) this.#arm()
      else this.#reject(this.#expired())
    }, this.#timeoutMs)
  }
}

import { FLOW_INPUT_CACHE_SIZE } from './numbers.ts'

/**
 * Values by run, loaded when first asked for. Tasks of one run share a load; the least recently used are forgotten, so
 * that a long life does not hold every run's input.
 */
export class RunCache<TValue> {
  readonly #limit: number
  readonly #values = new Map<string, Promise<TValue>>()

  constructor(limit: number = FLOW_INPUT_CACHE_SIZE) {
    this.#limit = limit
  }

  get size(): number {
    return this.#values.size
  }

  get(runId: string, load: () => Promise<TValue>): Promise<TValue> {
    const known = this.#values.get(runId)
    const value = known ?? load()
    this.#values.delete(runId)
    this.#values.set(runId, value)
    if (known === undefined) {
      // A failed load is not an answer: the next task asks again.
      value.catch(() => {
        if (this.#values.get(runId) === value) this.#values.delete(runId)
      })
      const oldest = this.#values.keys().next()
      if (this.#values.size > this.#limit && !oldest.done) this.#values.delete(oldest.value)
    }
    return value
  }
}

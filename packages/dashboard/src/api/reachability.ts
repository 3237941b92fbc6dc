/** Whether the last request was answered at all. */
class Reachability {
  readonly #listeners = new Set<() => void>()
  #isReached = true

  get isReached(): boolean {
    return this.#isReached
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  set(isReached: boolean): void {
    if (this.#isReached === isReached) return
    this.#isReached = isReached
    for (const listener of this.#listeners) listener()
  }
}

export const reachability = new Reachability()

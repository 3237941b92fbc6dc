/** Sleeps that can be cut short, all together. */
export class Sleeper {
  readonly #wakes = new Set<() => void>()

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#wakes.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#wakes.add(wake)
    })
  }

  wakeAll(): void {
    for (const wake of this.#wakes) wake()
  }
}

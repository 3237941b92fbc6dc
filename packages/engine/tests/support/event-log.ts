/** What a runner or engine has said, to be waited on instead of time. */
export class EventLog<TEvent extends { readonly event: string }> {
  readonly events: TEvent[] = []
  readonly #waiters = new Set<() => void>()

  readonly record = (event: TEvent): void => {
    this.events.push(event)
    for (const check of this.#waiters) check()
  }

  /** Settles with the n-th event of this name. */
  seen(name: TEvent['event'], times = 1): Promise<TEvent> {
    return new Promise((resolve) => {
      const check = () => {
        const found = this.events.filter(({ event }) => event === name)[times - 1]
        if (found === undefined) return
        this.#waiters.delete(check)
        resolve(found)
      }
      this.#waiters.add(check)
      check()
    })
  }

  names(): string[] {
    return this.events.map(({ event }) => event)
  }
}

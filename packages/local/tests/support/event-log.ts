/** Collects events and lets a test wait for one. */
export class EventLog<TEvent extends { readonly type: string }> {
  readonly events: TEvent[] = []
  readonly #waiting = new Set<() => void>()

  readonly record = (event: TEvent): void => {
    this.events.push(event)
    for (const look of this.#waiting) look()
  }

  of<TType extends TEvent['type']>(type: TType): Extract<TEvent, { readonly type: TType }>[] {
    return this.events.filter((event): event is Extract<TEvent, { readonly type: TType }> => event.type === type)
  }

  /** The first event of that type, past or to come, that fits. Rejects after `timeoutMs` with what was seen instead. */
  async next<TType extends TEvent['type']>(
    type: TType,
    fits: (event: Extract<TEvent, { readonly type: TType }>) => boolean = () => true,
    timeoutMs = 15_000,
  ): Promise<Extract<TEvent, { readonly type: TType }>> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.of(type).find(fits)
        if (found === undefined) return
        end()
        resolve(found)
      }
      const timer = setTimeout(() => {
        end()
        reject(new Error(`no ${type} that fits; seen: ${JSON.stringify(this.events, undefined, 1)}`))
      }, timeoutMs)
      const end = () => {
        clearTimeout(timer)
        this.#waiting.delete(look)
      }
      this.#waiting.add(look)
      look()
    })
  }
}

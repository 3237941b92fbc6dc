/** A task and the moment it is due. */
export interface DueTask {
  readonly dueAtMs: number
  readonly index: number
}

/**
 * Tasks by the moment they are due; the earliest comes first, of equals the lower index. A binary heap. What has changed
 * since it was put in is not looked for: `isCurrent` is asked about an entry when it comes to the top.
 */
export class DueQueue {
  readonly #entries: DueTask[] = []
  readonly #isCurrent: (task: DueTask) => boolean

  constructor(isCurrent: (task: DueTask) => boolean) {
    this.#isCurrent = isCurrent
  }

  push(task: DueTask): void {
    const entries = this.#entries
    let at = entries.push(task) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  first(): DueTask | undefined {
    while (this.#entries.length > 0 && !this.#isCurrent(this.#entries[0]!)) this.#dropFirst()
    return this.#entries[0]
  }

  /** Takes the first one that is due. */
  takeDue(nowMs: number): number | undefined {
    const first = this.first()
    if (first === undefined || first.dueAtMs > nowMs) return undefined
    this.#dropFirst()
    return first.index
  }

  /** All that are due, in no order, without taking them. */
  due(nowMs: number): number[] {
    return this.#entries.filter((task) => task.dueAtMs <= nowMs && this.#isCurrent(task)).map((task) => task.index)
  }

  #dropFirst(): void {
    const last = this.#entries.pop()!
    if (this.#entries.length === 0) return
    this.#entries[0] = last
    this.#sink()
  }

  #sink(): void {
    for (let at = 0; ; ) {
      let least = at
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#entries.length && this.#isBefore(child, least)) least = child
      }
      if (least === at) return
      this.#swap(at, least)
      at = least
    }
  }

  #isBefore(a: number, b: number): boolean {
    const left = this.#entries[a]!
    const right = this.#entries[b]!
    return left.dueAtMs < right.dueAtMs || (left.dueAtMs === right.dueAtMs && left.index < right.index)
  }

  #swap(a: number, b: number): void {
    const entries = this.#entries
    const held = entries[a]!
    entries[a] = entries[b]!
    entries[b] = held
  }
}

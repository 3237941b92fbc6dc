/** How often what was done, in the order in which it was named first. */
export class Tally {
  readonly #counts = new Map<string, number>()

  constructor(names: readonly string[] = []) {
    for (const name of names) this.#counts.set(name, 0)
  }

  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count)
  }

  count(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  get entries(): readonly (readonly [string, number])[] {
    return [...this.#counts]
  }
}

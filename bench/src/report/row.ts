/** Named numbers of one round. NaN where a figure does not apply. */
export type Figures = Readonly<Record<string, number>>

/** One line of a table: what was measured, and each figure of every round. */
export interface Row {
  readonly labels: Readonly<Record<string, string | number>>
  readonly samples: Readonly<Record<string, readonly number[]>>
}

/** Collects rounds into rows, in the order in which the rows were first seen. */
export class Rows {
  readonly #rows = new Map<string, { labels: Row['labels']; samples: Record<string, number[]> }>()

  add(labels: Row['labels'], figures: Figures): void {
    const key = JSON.stringify(labels)
    let row = this.#rows.get(key)
    if (row === undefined) {
      row = { labels, samples: {} }
      this.#rows.set(key, row)
    }
    for (const [name, value] of Object.entries(figures)) {
      row.samples[name] ??= []
      row.samples[name].push(value)
    }
  }

  get all(): readonly Row[] {
    return [...this.#rows.values()]
  }
}

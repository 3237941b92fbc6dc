import { type Figures, type Row, Rows } from './report/row.ts'
import type { Bench } from './scenario.ts'

export interface Cell {
  readonly labels: Row['labels']
  measure(): Promise<Figures>
}

/** Every cell once, then every cell again: what changes on the machine in between meets all of them alike. */
export async function interleave(bench: Bench, cells: readonly Cell[]): Promise<readonly Row[]> {
  const rows = new Rows()
  for (let round = 1; round <= bench.scale.rounds; round++) {
    for (const { labels, measure } of cells) {
      bench.note(`round ${round}/${bench.scale.rounds}: ${Object.values(labels).join(', ')}`)
      rows.add(labels, await measure())
    }
  }
  return rows.all
}

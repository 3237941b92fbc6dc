import type { BenchCluster } from './cluster.ts'
import type { Column } from './report/column.ts'
import type { Row } from './report/row.ts'

/** How much is measured: all of it, or just enough to see that it works. */
export interface Scale {
  readonly isQuick: boolean
  readonly rounds: number
  /** How long one measured part should take, in seconds. */
  readonly seconds: number
  readonly limitSeconds: number
  /** `full` unless quick. */
  pick<T>(full: T, quick: T): T
}

export interface Bench {
  readonly cluster: BenchCluster
  readonly scale: Scale
  /** Says on stderr what is being measured. */
  note(text: string): void
}

export interface Scenario {
  /** For `--only`. */
  readonly name: string
  readonly title: string
  /** One or two sentences for who reads the table. */
  readonly about: string
  readonly columns: readonly Column[]
  run(bench: Bench): Promise<readonly Row[]>
}

import type { Placement } from '../runs/run-placement.ts'
import type { Scope } from '../workspace.ts'

/** How many runs there are, over all placements; cheap enough for every few seconds. */
export interface RunStatistics {
  read(scope: Scope): Promise<RunFigures>
  /** Open runs without a next actor: there should be none. May take seconds where very many runs are open. */
  auditLiveness(scope: Scope, limit: number): Promise<readonly LivenessProblem[]>
}

export interface RunFigures {
  readonly asOf: string
  /** Counted up to 10 000. */
  readonly open: { readonly queued: number; readonly running: number; readonly paused: number }
  /** The last hour, in order; it begins later where there were too many runs to count. */
  readonly minutes: readonly MinuteFigures[]
  readonly openWaits: number
}

export interface MinuteFigures {
  readonly at: string
  readonly started: number
  readonly failed: number
}

export interface LivenessProblem {
  readonly placement: Placement
  readonly kind: 'run' | 'step' | 'task'
  readonly flow: string
  readonly runId: string
  readonly step: string | null
  readonly task: number | null
  readonly reason: string
}

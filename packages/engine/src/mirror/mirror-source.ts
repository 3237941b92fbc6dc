import type { Json } from '@starflow/dsl'
import type { RunSnapshot } from './live-run.ts'

/** A row of the outbox: one write of a run, event or session variable. */
export interface MirrorChange {
  /** Grows within a run; a decimal string. */
  readonly id: string
  readonly runId: string | null
  readonly kind: 'run' | 'event' | 'session_var' | 'step_progress'
  readonly payload: { readonly [key: string]: Json }
  readonly createdAt: string
}

/** A change that the warm tier does not take, whatever comes. */
export interface RefusedChange {
  readonly id: string
  readonly reason: string
}

/** One that was set aside, for whoever looks for it. */
export interface SetAsideChange extends RefusedChange, Pick<MirrorChange, 'runId' | 'kind' | 'createdAt'> {}

/** How far the warm tier is behind. */
export interface MirrorLag {
  /** Unapplied changes by age: below the warning, from there to the page, and from there on. */
  readonly fresh: number
  readonly late: number
  readonly overdue: number
  readonly oldestMs: number
  /** Everything up to here is applied. */
  readonly asOf: string
}

/** The cold tier as a drainer and a sweep see it. */
export interface MirrorSource {
  /**
   * Takes changes that nobody else has taken, in the order of each run, hands them to `apply`, and marks them as applied when that
   * has resolved, but for those that it gives back as refused, which are set aside; else, or when this process dies, they are there
   * for the next one. Returns what it has taken.
   */
  drain(
    limit: { readonly runs: number; readonly changes: number },
    apply: (changes: readonly MirrorChange[]) => Promise<readonly RefusedChange[]>,
  ): Promise<readonly MirrorChange[]>
  /** Changes that were set aside, the latest first. */
  refused(limit: number): Promise<readonly SetAsideChange[]>
  lag(limits: { readonly warnMs: number; readonly pageMs: number }): Promise<MirrorLag>
  /** Deletes changes that were applied longer ago than this; returns how many. */
  prune(olderThanMs: number): Promise<number>
  /** Runs that are open, or whose changes were applied within this. */
  recentRuns(sinceMs: number): Promise<readonly string[]>
  /** What does not exist is left out. */
  snapshots(runIds: readonly string[]): Promise<readonly RunSnapshot[]>
}

import type { Json } from '@starflow/dsl'
import type { LiveRun, MirroredRun, RunSnapshot } from './live-run.ts'
import type { MirrorChange } from './mirror-source.ts'

/**
 * The live overlay: what runs are doing now, for whoever watches. Never authoritative, and it may be gone at any time: every method may
 * reject, and no run minds.
 *
 * - A change counts once. One that is brought again, or after a later one of its run, has no effect.
 * - A correction takes the place of what it was compared with, and of nothing else.
 */
export interface WarmTier {
  /** Learns changes, in this order: all of them, or none where one cannot be learned. Returns how many were new. */
  apply(changes: readonly MirrorChange[]): Promise<number>
  /** What a step says of itself, maybe before its run is known here. It is shown while the node is active. */
  reportProgress(runId: string, nodeId: string, value: Json): Promise<void>
  /**
   * From now on it knows everything up to this instant; it does not go back. False: it knows nothing, since it is new or has lost
   * everything, and stays at that until the filling is reported complete.
   */
  advance(asOf: string, options?: { readonly isFilled: boolean }): Promise<boolean>
  /** Up to when it knows everything; null while it knows nothing. */
  asOf(): Promise<string | null>
  readRuns(runIds: readonly string[]): Promise<readonly LiveRun[]>
  /** Runs that are held by a runner or paused, the last changed first. */
  listPeers(query: { readonly workspaceId?: string | undefined; readonly limit: number }): Promise<readonly LiveRun[]>
  /** The runs that it takes for open. */
  openRuns(): Promise<readonly string[]>
  /** Returns how many it has corrected. */
  correct(corrections: readonly Correction[]): Promise<number>
  /** Forgets runs that ended longer ago than this. */
  prune(olderThanMs: number): Promise<number>
}

/** What a run should be like, and what it was compared with. */
export interface Correction extends Pick<RunSnapshot, 'runId' | 'activeNodes'> {
  /** Null: there is no such run. */
  readonly run: MirroredRun | null
  /** Of the live run that was compared; null when there was none. */
  readonly outboxId: string | null
}

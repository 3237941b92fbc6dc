import type { AttemptReport, TaskToGiveBack } from './task-outcome.ts'
import type { WorkSubject } from './work-identity.ts'
import type { ClaimedMessage, ClaimedTask, UnsupportedMessage, WorkerState } from './worker-sql.ts'

/** What an executor runs: a task of a flow, or a message of a queue without one. */
export type ClaimedWork = ClaimedTask | ClaimedMessage

/** A report that the database refused; it changed nothing. */
export type RefusedReport = WorkSubject & { readonly reason: string }

export interface ClaimAnswer {
  readonly worker: WorkerState
  readonly claimed: readonly ClaimedWork[]
  readonly refused: readonly RefusedReport[]
  readonly unsupported: readonly UnsupportedMessage[]
  /** The strict policy stopped this worker function: nothing was claimed. */
  readonly halted: boolean
  /** How much was met that only {@link WorkSource.recoverStalled} can end. */
  readonly stalled: number
  /** Tasks that were met and left: a worker vanished while it ran them, so that they are to be claimed alone. */
  readonly suspects: number
}

/** Where a poller's work comes from and where its outcomes go. Each call is one round trip. */
export interface WorkSource {
  /** Settles reports and claims at most `qty`; `alone`: one suspect, and nothing else. */
  settleAndClaim(reports: readonly AttemptReport[], qty: number, alone: boolean): Promise<ClaimAnswer>
  /** Settles reports; answers those that were refused. */
  settle(reports: readonly AttemptReport[]): Promise<readonly RefusedReport[]>
  /** Those of these reports that would have to wait now, since another transaction holds their runs. */
  heldUp(reports: readonly AttemptReport[]): Promise<readonly AttemptReport[]>
  release(items: readonly TaskToGiveBack[]): Promise<void>
  recoverStalled(): Promise<void>
}

/**
 * What the kinds of subscriptions differ in. Everything else of a worker is the same for all: lifecycle, poller,
 * executor, heartbeat.
 */
export interface Work extends WorkSource {
  /** Makes ready what is claimed from, and answers its queue as the database names it. */
  open(): Promise<string>
  /** Seconds that an attempt may take; undefined for as long as it likes. */
  timeoutSeconds(item: ClaimedWork): number | undefined
  /** The error of an attempt that took longer. */
  timeoutError(item: ClaimedWork): Error
  /** Calls the handler. */
  invoke(item: ClaimedWork, signal: AbortSignal): unknown
  /** Of what runs here, what counts no more, each with the reason. */
  lost(items: readonly ClaimedWork[]): Promise<ReadonlyMap<ClaimedWork, Error>>
  /** What is reported of the handler's result; throws a readable error where it cannot be stored. */
  serialise(output: unknown): string
  /** Ends what goes on in the background; called when the worker has said all it had to say. */
  close(): void
}

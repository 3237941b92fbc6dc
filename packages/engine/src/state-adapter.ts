import type { FlowShape, Json } from '@starflow/dsl'
import type {
  Checkpoint,
  ClaimState,
  DefinitionRecord,
  ListedRun,
  RunClaim,
  RunEvent,
  RunFailure,
  RunRecord,
  RunStatus,
} from './run-record.ts'

/**
 * The boundary between the engine and where runs are kept. The engine knows nothing else of a database, and awaits every
 * call: when a method has returned, what it says is durable (as far as the substrate is).
 *
 * Rules that every adapter keeps, and `tests/conformance` checks:
 * - Each method is one transaction: all of it or nothing.
 * - Durations come in, instants are computed from the database's clock. A runner's clock decides nothing.
 * - A bound adapter (`bind`) writes only its own run, and only while its claim is the current one; otherwise the method
 *   rejects with `RunClaimLostError` (SF801) and changes nothing. An unbound one writes a run only while nobody holds a claim
 *   on it. A claim is current until it is given up or taken away (by the sweep, or a cancellation): that its lease is over
 *   does not end it yet. A run that is not there: `RunNotFoundError` (SF802).
 * - A method that is repeated after an answer was lost has the effect of one call. An event of a node is not appended again
 *   when it is the last one of that node, with the same attempt, and the run has not changed hands since (`runner_lost`,
 *   `run_released`, `run_resumed`, `run_retried`).
 * - Ends are final: no method but `retryRun` changes a run with an end. The journal refuses one with SF801; only the same end
 *   again has no effect, and leases may still be refreshed and cleared.
 */
export interface WorkflowStateAdapter
  extends RunJournal,
    WaitStore,
    SessionStore,
    RunReads,
    Partial<RunQueue>,
    Partial<WorkerJobStore> {
  /** `supabase`, `sqlite`, `null`, …: for logs and the health page. */
  readonly substrate: string
  /** Whether a network lies between: while the store cannot be reached, leases run out although their runners live. Default: it does not. */
  readonly isRemote?: boolean
  /** The same store with the writes of this run fenced by the claim. Cheap; shares connections with what it came from. */
  bind(claim: RunClaim): WorkflowStateAdapter
  close(): Promise<void>
}

/** An adapter with a queue: what a runner and an edge need. */
export type QueueingStateAdapter = WorkflowStateAdapter & RunQueue

/** The write boundaries of an executing run, in the order in which a run meets them. */
export interface RunJournal {
  /**
   * The run begins to execute. Inserts it (status `running`) when it was never enqueued, else moves it from claimed to
   * running; `started_at` is set once. A paused run keeps its status until `onRunResumed`. Appends `run_started` the first
   * time. Again: no effect. A run of this id that is another flow's or workspace's: SF202.
   */
  onRunStart(runId: string, start: RunStart): Promise<void>
  /** Gives a run that was not claimed from a queue its lease (claim_state `running`). Returns the claim that fences it from now on; again for the same runner: the same claim. */
  writeLease(runId: string, runnerId: string, ttlMs: number): Promise<RunClaim>
  /** Extends one lease from now. */
  refreshLease(runId: string, ttlMs: number): Promise<void>
  /** An attempt of a node begins. Appends `node_start { attempt, input? }`. */
  onNodeStart(runId: string, nodeId: string, start: { readonly attempt: number; readonly input?: Json }): Promise<void>
  /** A node has its one accepted output. Appends `node_complete { output }`. Again for the same node: no effect. */
  onNodeComplete(
    runId: string,
    nodeId: string,
    output: Json,
    meta?: { readonly attempt: number; readonly durationMs: number },
  ): Promise<void>
  /** An attempt failed and another one follows. Appends `node_retry { attempt, error, delay_ms, due_at }`, due by the database's clock. */
  onNodeRetry(
    runId: string,
    nodeId: string,
    retry: { readonly attempt: number; readonly error: RunFailure; readonly delayMs: number },
  ): Promise<void>
  /** A node failed for good, past its retries. Appends `node_error { attempt, error }`. */
  onNodeError(
    runId: string,
    nodeId: string,
    failure: { readonly attempt: number; readonly error: RunFailure },
  ): Promise<void>
  /** A node is skipped. Appends `node_skip { reason }`. */
  onNodeSkip(runId: string, nodeId: string, reason: SkipReason): Promise<void>
  /** Keeps the checkpoint (upsert). Only part of entering a durable wait. */
  saveCheckpoint(runId: string, checkpoint: Checkpoint): Promise<void>
  /** status `paused`; appends `run_paused { nodes }`. */
  onRunPaused(runId: string, pause: { readonly nodeIds: readonly string[] }): Promise<void>
  /** status `running`, checkpoint cleared; appends `run_resumed`. */
  onRunResumed(runId: string): Promise<void>
  /**
   * status `success`, output, duration; checkpoint cleared; session variables of the run without keepUntil dropped. Appends
   * `run_completed { duration_ms }`. Again: no effect.
   */
  onRunComplete(runId: string, end: { readonly output: Json; readonly durationMs: number }): Promise<void>
  /** status `error` with the message; else as onRunComplete. Appends `run_failed { error }`. Again: no effect. */
  onRunError(runId: string, failure: RunFailure): Promise<void>
  /**
   * leased_by and lease_until become null; claim_state follows status (paused or an end). A paused run whose wait is over
   * already, with a payload or a timeout that no `node_complete` or `node_error` has taken, is queued instead: nobody else would.
   * After this the claim is spent. Again: no effect while nobody has claimed the run since.
   */
  clearLease(runId: string): Promise<void>
  /**
   * Gives the run back to the queue, to be claimed after the delay (0: at once): claim_state `queued`, and status `queued`
   * unless it is paused; a paused one whose wait is over already may be claimed at once. The claim is spent. Appends `run_released { reason }`. Again: no effect while nobody has claimed the run since.
   */
  releaseRun(runId: string, release: { readonly delayMs: number; readonly reason: string }): Promise<void>
  /** Appends `phase { phase }` if it is not the run's last phase. */
  recordPhaseIfChanged(runId: string, phase: string): Promise<void>
  /** A variable of the author's (`ctx.variables`); appends `variable { key, value }` if that is not its value already. Reserved keys are refused before this is called. */
  onVariableSet(runId: string, key: string, value: Json): Promise<void>
  /** Progress of a step: high-volume and warm only. An adapter without a warm tier drops it. */
  onStepProgress(runId: string, nodeId: string, value: Json): Promise<void>
  /** The definition that runs are tied to; one row per (flow slug, shape hash), returned as it is kept. */
  saveDefinition(definition: {
    readonly flowSlug: string
    readonly shapeHash: string
    readonly shape: FlowShape
  }): Promise<DefinitionRecord>
}

export type SkipReason = 'condition_unmet' | 'dependency_skipped' | 'handler_failed'

export interface RunStart {
  readonly templateId: string
  readonly workspaceId: string
  readonly env: string
  readonly input: Json
  readonly definitionId: string | null
  /** The span that starts it: spans of its nodes are children of it, whoever executes them. */
  readonly traceparent?: string | null | undefined
}

/** Where queued runs are put and taken. */
export interface RunQueue {
  /**
   * Inserts a queued run, or returns the one that has this id already, or this idempotency key (one per workspace and env).
   * What exists must be of the same flow, workspace and env; else SF202.
   */
  enqueueRun(spec: EnqueueSpec): Promise<{ readonly runId: string; readonly created: boolean }>
  /**
   * Takes the oldest run (by queued_at, which is when it was queued last) that is due, of a definition that this runner serves and a pool that is its own or nobody's (a
   * runner without a pool takes only those of nobody). Exactly one runner gets a run. Sets claim_state, leased_by, lease and claim_attempts + 1.
   */
  claimNextQueuedRun(args: ClaimArgs): Promise<ClaimedRun | null>
  /** Calls `wake` when a run may have been queued for the pool. Optional: without it a runner asks at its interval. */
  onQueued?(runnerPool: string | null, wake: () => void): Promise<() => Promise<void>>
  /**
   * One call for a runner's sign of life and all its leases. Returns the claims of those given that it does not hold any
   * longer: their runs must be stopped. The runner counts as live for `ttlMs` from now.
   */
  heartbeat(beat: RunnerBeat): Promise<{ readonly lost: readonly RunClaim[] }>
  /** The runner is gone: it is no longer listed as live. */
  removeRunner(runnerId: string): Promise<void>
  /**
   * Finds runs whose lease is over, or that are claimed or running without one for longer than a lease, whatever their status; what waits
   * (claim_state `paused`) is not touched. Appends `runner_lost { runner_id, reason }` and queues the run again, as `releaseRun` does, at
   * most `maxLosses` times since its last `node_complete` or `run_retried`; the next loss ends it (`error`, `abandoned`, the
   * reason as error, `run_failed`). A run that had ended only loses its lease, and is not returned. Also times out the waits of
   * paused runs that are due, and queues those runs.
   */
  expireOldLeases(sweep: {
    readonly ttlMs: number
    readonly maxLosses: number
    readonly reason: string
  }): Promise<readonly SweptRun[]>
  /** Queued runs that no live runner serves, with the reason. */
  listUnservedRuns(args: {
    readonly workspaceId?: string | undefined
    readonly limit: number
  }): Promise<readonly UnservedRun[]>
  listRunners(): Promise<readonly RunnerRecord[]>
  /** Runs that a runner holds, the one whose lease is over first at the top. */
  listLeases(args: { readonly workspaceId?: string | undefined; readonly limit: number }): Promise<readonly HeldLease[]>
}

export interface EnqueueSpec extends RunStart {
  readonly runId: string
  readonly runnerPool?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** Not claimed before this has passed. */
  readonly delayMs?: number | undefined
}

export interface ClaimArgs {
  readonly runnerId: string
  readonly leaseTtlMs: number
  readonly runnerPool?: string | undefined
  /** The definitions that this runner's code serves. */
  readonly definitionIds: readonly string[]
}

/** A run that was just claimed, with all that the engine needs to go on with it. */
export interface ClaimedRun {
  readonly claim: RunClaim
  readonly run: RunRecord
}

export interface RunnerBeat {
  readonly runnerId: string
  readonly runnerPool?: string | undefined
  readonly definitionIds: readonly string[]
  readonly ttlMs: number
  readonly claims: readonly RunClaim[]
  /** How many runs it executes at once, at most. */
  readonly capacity: number
  /** False while it drains, or while its claims are not answered: it serves no further run. Default: it does. */
  readonly isAccepting?: boolean | undefined
  /** Flows of its code that it cannot execute, by slug, and why. */
  readonly refusedFlows?: Readonly<Record<string, string>> | undefined
  /** The workspace under which it reports. */
  readonly workspaceId?: string | undefined
}

export interface SweptRun {
  readonly runId: string
  readonly outcome: 'requeued' | 'abandoned' | 'wait_over'
}

export interface UnservedRun {
  readonly runId: string
  readonly templateId: string
  readonly queuedAt: string
  readonly runnerPool: string | null
  /** `refused`: a runner has the flow and cannot execute it. */
  readonly reason: 'no_runner' | 'refused' | 'other_definition' | 'other_pool'
  /** Why it is refused. */
  readonly detail: string | null
}

export interface RunnerRecord {
  readonly runnerId: string
  readonly runnerPool: string | null
  readonly capacity: number
  readonly runs: number
  readonly lastHeartbeat: string
  readonly isLive: boolean
  /** False while it drains, or while its claims are not answered. */
  readonly isAccepting: boolean
  /** The workspace under which it reports; null: it said none. */
  readonly workspaceId: string | null
}

/** A runner's right to a run, for whoever looks. */
export interface HeldLease {
  readonly runId: string
  readonly templateId: string
  readonly workspaceId: string
  readonly runnerId: string
  readonly claimState: ClaimState
  readonly claimAttempts: number
  readonly leaseUntil: string
  readonly lastHeartbeat: string | null
}

/** Durable waits across processes. */
export interface WaitStore {
  /**
   * Opens a wait of a paused run: from now on its timeout runs. Part of `onRunPaused`'s moment in the wait invariant; again: no effect.
   * A payload that arrived early is returned, and then the wait is over already.
   */
  openWait(runId: string, wait: { readonly nodeId: string; readonly timeoutMs: number | null }): Promise<WaitRecord>
  /**
   * Stores the payload, once per wait, and queues the paused run, also one that stands behind a delay, in one transaction. `early`: the wait is not open yet;
   * it is kept for it. `no_wait`: the definition of the run has no such wait, and nothing is kept. A wait that is due is timed out instead, and its run queued, as the sweep would. A run that a runner
   * still holds is queued by `clearLease`. Needs no claim: whoever resumes is no runner.
   */
  resumeWait(runId: string, nodeId: string, payload: Json): Promise<ResumeOutcome>
  /** All waits of a run. */
  readWaits(runId: string): Promise<readonly WaitRecord[]>
  /** Open waits of runs without an end, oldest first, for an inbox. */
  listOpenWaits(args: {
    readonly workspaceId?: string | undefined
    readonly limit: number
  }): Promise<readonly OpenWait[]>
}

export type ResumeOutcome =
  | 'accepted'
  | 'early'
  | 'already_resumed'
  | 'timed_out'
  | 'run_ended'
  | 'no_wait'
  | 'not_found'

export interface WaitRecord {
  readonly runId: string
  readonly nodeId: string
  /** `early`: resumed before it was opened. `resumed` and `timed_out` are ends. */
  readonly status: 'early' | 'open' | 'resumed' | 'timed_out'
  readonly payload: Json | null
  readonly openedAt: string | null
  readonly dueAt: string | null
}

/** A wait that somebody is asked to decide, for an inbox. */
export interface OpenWait {
  readonly runId: string
  readonly nodeId: string
  /** The flow slug of its run. */
  readonly templateId: string
  readonly openedAt: string
  /** When it times out; null: never. */
  readonly dueAt: string | null
}

/** Jobs that steps hand to external workers. Optional as a whole. What workers do with them is the server's. */
export interface WorkerJobStore {
  /**
   * Hands work out, or finds what the run has handed out under this key before: with its result, where there is one. A job that has
   * failed is queued again.
   */
  enqueueWorkerJob(
    runId: string,
    nodeId: string,
    job: { readonly kind: string; readonly payload: Json; readonly idempotencyKey: string },
  ): Promise<WorkerJobRecord>
  readWorkerJob(jobId: string): Promise<WorkerJobRecord | null>
  /** Nobody waits for it any longer. Of a job that has ended: no effect. */
  cancelWorkerJob(jobId: string): Promise<void>
}

export interface WorkerJobRecord {
  readonly jobId: string
  readonly status: 'queued' | 'leased' | 'completed' | 'failed' | 'cancelled'
  readonly result: Json
  /** Of the last attempt that failed. */
  readonly error: string | null
  /** No further attempt can help. */
  readonly isPermanent: boolean
}

/** Session variables: values that steps share, across runs where they ask for it. */
export interface SessionStore {
  /** Null when there is none, or it has expired. */
  sessionGet(sessionId: string, key: string): Promise<Json | null>
  /**
   * `keepForMs`: is kept for so long from now, whatever becomes of the run; without it the variable is dropped when the run
   * that wrote it last ends. A write of that run, fenced like the others.
   */
  sessionSet(
    sessionId: string,
    key: string,
    value: Json,
    options: { readonly runId: string; readonly keepForMs?: number | undefined },
  ): Promise<void>
  /** Removes expired variables; returns how many. */
  collectSessions(): Promise<number>
}

/** Reads, and what people decide from outside. */
export interface RunReads {
  readRun(runId: string): Promise<RunRecord | null>
  /** In order; `afterId` exclusive. With `nodeId` only those of one node. */
  readEvents(
    runId: string,
    options?: {
      readonly afterId?: string | undefined
      readonly limit?: number | undefined
      readonly nodeId?: string | undefined
    },
  ): Promise<readonly RunEvent[]>
  /** A definition as it is kept; null when there is none of this id. */
  readDefinition(definitionId: string): Promise<DefinitionRecord | null>
  /** Newest first, by (created, run id); `before` is the cursor of the last page; SF001 for any other text. */
  listRuns(query: RunQuery): Promise<RunPage>
  /**
   * Ends the run: status `cancelled`, its lease is gone, `run_cancelled` is appended. A runner that executes it is refused at its next write or
   * heartbeat. Session variables as at every end. `false` when the run had ended already; SF802 when there is none.
   */
  cancelRun(runId: string, reason: string): Promise<boolean>
  /**
   * Queues a failed or cancelled run again: completed nodes keep their output, the others start afresh, and waits that are open or timed
   * out are forgotten (a payload is kept). Appends `run_retried`. `false` when it is not ended, or succeeded; SF802 when there is none.
   */
  retryRun(runId: string): Promise<boolean>
}

export interface RunQuery {
  readonly workspaceId?: string | undefined
  readonly env?: string | undefined
  readonly templateId?: string | undefined
  /** Of any of these statuses. */
  readonly statuses?: readonly RunStatus[] | undefined
  /** What a run's id begins with, or what stands in its flow slug or error, whatever the case of its letters; see run-search.ts. */
  readonly search?: string | undefined
  /** Made at this instant or later. */
  readonly createdFrom?: string | undefined
  /** Made before this instant. */
  readonly createdBefore?: string | undefined
  readonly before?: string | undefined
  readonly limit: number
  /**
   * How many runs of the workspace and time a page looks at, at most: what no index finds could else take as long as there are runs. A page may then have
   * fewer runs than its limit, or none, and a next. Default: no bound.
   */
  readonly lookAt?: number | undefined
}

export interface RunPage {
  readonly runs: readonly ListedRun[]
  /** Give it as `before` to get the next page; null on the last one. */
  readonly next: string | null
  /** When the last run was made that was looked at, where `lookAt` ended the page before it was full. */
  readonly lookedUntil: string | null
}

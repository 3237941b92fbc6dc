import type { Json } from '@starflow/dsl'
import type { Checkpoint, DefinitionRecord, RunClaim, RunEvent, RunFailure, RunRecord } from '../../run-record.ts'
import type {
  ClaimArgs,
  ClaimedRun,
  EnqueueSpec,
  HeldLease,
  OpenWait,
  QueueingStateAdapter,
  ResumeOutcome,
  RunnerBeat,
  RunnerRecord,
  RunPage,
  RunQuery,
  RunStart,
  SkipReason,
  SweptRun,
  UnservedRun,
  WaitRecord,
} from '../../state-adapter.ts'
import { watchQueuedRuns } from './queued-run-watch.ts'
import { appendNodeEvent } from './run-changes.ts'
import * as decisions from './run-decisions.ts'
import { openRun, type Writer } from './run-fence.ts'
import * as journal from './run-journal.ts'
import * as queue from './run-queue.ts'
import * as reads from './run-reads.ts'
import * as waits from './run-waits.ts'
import * as sessions from './session-variables.ts'
import { StateDatabase, type Transaction } from './state-database.ts'
import type { Durability } from './state-file.ts'

export interface LocalStateOptions {
  /** Of the state file; it and its folder are made. `:memory:` keeps runs for as long as the adapter is open. */
  readonly path: string
  /** By default what was answered outlives a power failure. */
  readonly durability?: Durability | undefined
  /** Instants in milliseconds since 1970, instead of SQLite's own clock. For tests. */
  readonly clock?: (() => number) | undefined
}

/**
 * Keeps runs in one SQLite file, for as many processes of one machine as like to share it: the system of record of a laptop
 * or a single node. Calls return when their write is durable.
 */
export class LocalWorkflowStateAdapter implements QueueingStateAdapter {
  readonly substrate = 'sqlite'
  readonly #database: StateDatabase
  readonly #writer: Writer

  private constructor(database: StateDatabase, writer: Writer) {
    this.#database = database
    this.#writer = writer
  }

  /**
   * Opens the file.
   *
   * @throws StateFileError SF821
   */
  static async open(options: LocalStateOptions): Promise<LocalWorkflowStateAdapter> {
    const { path, durability = 'power_failure', clock } = options
    return new LocalWorkflowStateAdapter(new StateDatabase(path, durability, clock), undefined)
  }

  bind(claim: RunClaim): LocalWorkflowStateAdapter {
    return new LocalWorkflowStateAdapter(this.#database, claim)
  }

  /** The file belongs to the adapter that opened it; a bound one leaves it open. */
  /**
   * Writes nothing new, but writes: whether the file can be read says nothing of a full disk.
   *
   * @throws StateFileError SF821
   */
  async checkWritable(): Promise<void> {
    await this.#database.write((transaction) => {
      const { version } = transaction.first<{ version: number }>(
        'select user_version as version from pragma_user_version',
      )!
      transaction.run(`pragma user_version = ${version}`)
    })
  }

  async close(): Promise<void> {
    if (this.#writer === undefined) this.#database.close()
  }

  // The journal.

  onRunStart(runId: string, start: RunStart): Promise<void> {
    return this.#database.write((transaction) => journal.startRun(transaction, this.#writer, runId, start))
  }

  writeLease(runId: string, runnerId: string, ttlMs: number): Promise<RunClaim> {
    return this.#database.write((transaction) => journal.writeLease(transaction, this.#writer, runId, runnerId, ttlMs))
  }

  refreshLease(runId: string, ttlMs: number): Promise<void> {
    return this.#database.write((transaction) => journal.refreshLease(transaction, this.#writer, runId, ttlMs))
  }

  onNodeStart(
    runId: string,
    nodeId: string,
    start: { readonly attempt: number; readonly input?: Json },
  ): Promise<void> {
    const { attempt, input } = start
    return this.#writeRun(runId, (transaction) =>
      appendNodeEvent(transaction, runId, nodeId, 'node_start', { attempt, input }),
    )
  }

  onNodeComplete(
    runId: string,
    nodeId: string,
    output: Json,
    meta?: { readonly attempt: number; readonly durationMs: number },
  ): Promise<void> {
    const payload = { output, attempt: meta?.attempt, duration_ms: meta?.durationMs }
    return this.#database.write((transaction) =>
      journal.completeNode(transaction, this.#writer, runId, nodeId, payload),
    )
  }

  onNodeRetry(
    runId: string,
    nodeId: string,
    { attempt, error, delayMs }: { readonly attempt: number; readonly error: RunFailure; readonly delayMs: number },
  ): Promise<void> {
    return this.#writeRun(runId, (transaction) =>
      appendNodeEvent(transaction, runId, nodeId, 'node_retry', {
        attempt,
        error: journal.failureJson(error),
        delay_ms: delayMs,
        due_at: new Date(transaction.now + delayMs).toISOString(),
      }),
    )
  }

  onNodeError(
    runId: string,
    nodeId: string,
    { attempt, error }: { readonly attempt: number; readonly error: RunFailure },
  ): Promise<void> {
    const payload = { attempt, error: journal.failureJson(error) }
    return this.#writeRun(runId, (transaction) => appendNodeEvent(transaction, runId, nodeId, 'node_error', payload))
  }

  onNodeSkip(runId: string, nodeId: string, reason: SkipReason): Promise<void> {
    return this.#writeRun(runId, (transaction) => appendNodeEvent(transaction, runId, nodeId, 'node_skip', { reason }))
  }

  saveCheckpoint(runId: string, checkpoint: Checkpoint): Promise<void> {
    return this.#database.write((transaction) => journal.saveCheckpoint(transaction, this.#writer, runId, checkpoint))
  }

  onRunPaused(runId: string, { nodeIds }: { readonly nodeIds: readonly string[] }): Promise<void> {
    return this.#database.write((transaction) => journal.pauseRun(transaction, this.#writer, runId, nodeIds))
  }

  onRunResumed(runId: string): Promise<void> {
    return this.#database.write((transaction) => journal.resumeRun(transaction, this.#writer, runId))
  }

  onRunComplete(runId: string, end: { readonly output: Json; readonly durationMs: number }): Promise<void> {
    return this.#database.write((transaction) => journal.completeRun(transaction, this.#writer, runId, end))
  }

  onRunError(runId: string, failure: RunFailure): Promise<void> {
    return this.#database.write((transaction) => journal.failRun(transaction, this.#writer, runId, failure))
  }

  clearLease(runId: string): Promise<void> {
    return this.#database.write((transaction) => journal.clearLease(transaction, this.#writer, runId))
  }

  releaseRun(runId: string, release: { readonly delayMs: number; readonly reason: string }): Promise<void> {
    return this.#database.write((transaction) => journal.releaseRun(transaction, this.#writer, runId, release))
  }

  recordPhaseIfChanged(runId: string, phase: string): Promise<void> {
    return this.#database.write((transaction) => journal.recordPhase(transaction, this.#writer, runId, phase))
  }

  onVariableSet(runId: string, key: string, value: Json): Promise<void> {
    return this.#database.write((transaction) => journal.setVariable(transaction, this.#writer, runId, key, value))
  }

  /** There is no warm tier. */
  async onStepProgress(): Promise<void> {}

  saveDefinition(definition: Parameters<QueueingStateAdapter['saveDefinition']>[0]): Promise<DefinitionRecord> {
    return this.#database.write((transaction) => journal.saveDefinition(transaction, definition))
  }

  // The queue.

  enqueueRun(spec: EnqueueSpec): Promise<{ readonly runId: string; readonly created: boolean }> {
    return this.#database.write((transaction) => queue.enqueueRun(transaction, spec))
  }

  claimNextQueuedRun(args: ClaimArgs): Promise<ClaimedRun | null> {
    return this.#database.write((transaction) => queue.claimNextQueuedRun(transaction, args))
  }

  /** Wakes for any pool: to ask once too often costs next to nothing here. */
  async onQueued(_runnerPool: string | null, wake: () => void): Promise<() => Promise<void>> {
    const stop = watchQueuedRuns(this.#database, wake)
    return async () => stop()
  }

  heartbeat(beat: RunnerBeat): Promise<{ readonly lost: readonly RunClaim[] }> {
    return this.#database.write((transaction) => queue.heartbeat(transaction, beat))
  }

  removeRunner(runnerId: string): Promise<void> {
    return this.#database.write((transaction) => queue.removeRunner(transaction, runnerId))
  }

  expireOldLeases(sweep: Parameters<QueueingStateAdapter['expireOldLeases']>[0]): Promise<readonly SweptRun[]> {
    return this.#database.write((transaction) => queue.expireOldLeases(transaction, sweep))
  }

  listUnservedRuns(args: Parameters<QueueingStateAdapter['listUnservedRuns']>[0]): Promise<readonly UnservedRun[]> {
    return this.#database.read((transaction) => queue.listUnservedRuns(transaction, args))
  }

  listRunners(): Promise<readonly RunnerRecord[]> {
    return this.#database.read((transaction) => queue.listRunners(transaction))
  }

  listLeases(args: Parameters<QueueingStateAdapter['listLeases']>[0]): Promise<readonly HeldLease[]> {
    return this.#database.read((transaction) => queue.listLeases(transaction, args))
  }

  // Durable waits.

  openWait(runId: string, wait: Parameters<QueueingStateAdapter['openWait']>[1]): Promise<WaitRecord> {
    return this.#database.write((transaction) => waits.openWait(transaction, this.#writer, runId, wait))
  }

  resumeWait(runId: string, nodeId: string, payload: Json): Promise<ResumeOutcome> {
    return this.#database.write((transaction) => waits.resumeWait(transaction, runId, nodeId, payload))
  }

  readWaits(runId: string): Promise<readonly WaitRecord[]> {
    return this.#database.read((transaction) => waits.readWaits(transaction, runId))
  }

  listOpenWaits(args: Parameters<QueueingStateAdapter['listOpenWaits']>[0]): Promise<readonly OpenWait[]> {
    return this.#database.read((transaction) => waits.listOpenWaits(transaction, args))
  }

  // Session variables.

  sessionGet(sessionId: string, key: string): Promise<Json | null> {
    return this.#database.read((transaction) => sessions.getVariable(transaction, sessionId, key))
  }

  sessionSet(
    sessionId: string,
    key: string,
    value: Json,
    options: Parameters<QueueingStateAdapter['sessionSet']>[3],
  ): Promise<void> {
    return this.#database.write((transaction) =>
      sessions.setVariable(transaction, this.#writer, sessionId, key, value, options),
    )
  }

  collectSessions(): Promise<number> {
    return this.#database.write((transaction) => sessions.collectVariables(transaction))
  }

  // Reads, and what people decide.

  readRun(runId: string): Promise<RunRecord | null> {
    return this.#database.read((transaction) => reads.readRun(transaction, runId))
  }

  readEvents(runId: string, options?: Parameters<QueueingStateAdapter['readEvents']>[1]): Promise<readonly RunEvent[]> {
    return this.#database.read((transaction) => reads.readEvents(transaction, runId, options))
  }

  readDefinition(definitionId: string): Promise<DefinitionRecord | null> {
    return this.#database.read((transaction) => reads.readDefinition(transaction, definitionId))
  }

  listRuns(query: RunQuery): Promise<RunPage> {
    return this.#database.read((transaction) => reads.listRuns(transaction, query))
  }

  cancelRun(runId: string, reason: string): Promise<boolean> {
    return this.#database.write((transaction) => decisions.cancelRun(transaction, runId, reason))
  }

  retryRun(runId: string): Promise<boolean> {
    return this.#database.write((transaction) => decisions.retryRun(transaction, runId))
  }

  /** A write of a run that has its claim and no end. */
  #writeRun(runId: string, work: (transaction: Transaction) => void): Promise<void> {
    return this.#database.write((transaction) => {
      openRun(transaction, this.#writer, runId)
      work(transaction)
    })
  }
}

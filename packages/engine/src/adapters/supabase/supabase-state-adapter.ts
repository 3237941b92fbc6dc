import type { Database } from '@starflow/core'
import type { Json } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { Checkpoint, DefinitionRecord, RunClaim, RunEvent, RunFailure, RunRecord } from '../../run-record.ts'
import { parseRunSearch } from '../../run-search.ts'
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
  RunQueue,
  RunStart,
  SkipReason,
  SweptRun,
  UnservedRun,
  WaitRecord,
  WorkerJobRecord,
  WorkerJobStore,
  WorkflowStateAdapter,
} from '../../state-adapter.ts'
import type { Arguments, ProjectAccess } from './rest-api.ts'
import { readRunCursor, writeRunCursor } from './run-cursor.ts'
import { RunQueueListener } from './run-queue-listener.ts'
import { StateFunctions } from './state-functions.ts'
import {
  type DefinitionRow,
  definitionRecord,
  type EventRow,
  heldLease,
  type ListedRunRow,
  listedRun,
  type OpenWaitRow,
  openWait,
  type RunnerRow,
  type RunRow,
  runEvent,
  runnerRecord,
  runRecord,
  type UnservedRow,
  unservedRun,
  type WaitRow,
  type WorkerJobRow,
  waitRecord,
  workerJobRecord,
} from './state-rows.ts'

export interface SupabaseStateOptions extends ProjectAccess {
  /** A direct way, not through a transaction pooler: with it, runners are woken when a run is queued. Ended with the adapter. */
  readonly listenOn?: Database | undefined
}

/** What one call does or reads at most, where there may be any number. Below the 1000 rows that REST gives by default. */
const BATCH_ROWS = 500

/** What the adapters of one store share. */
interface Store {
  readonly functions: StateFunctions
  readonly listener: RunQueueListener | undefined
}

/**
 * Keeps runs in the database of a Supabase project. Each method is one function of the schema `starflow`, called over REST with
 * the service role: one transaction. What they promise stands in `packages/core/schemas/70_engine/README.md`.
 */
export class SupabaseWorkflowStateAdapter implements QueueingStateAdapter, WorkerJobStore {
  readonly substrate = 'supabase'
  readonly isRemote = true
  /** Only with `listenOn`. */
  readonly onQueued?: NonNullable<RunQueue['onQueued']>
  readonly #functions: StateFunctions
  readonly #store: Store
  readonly #claim: RunClaim | undefined

  private constructor(store: Store, claim: RunClaim | undefined) {
    const { listener } = store
    this.#store = store
    this.#functions = store.functions
    this.#claim = claim
    if (listener !== undefined) this.onQueued = (runnerPool, wake) => listener.add(runnerPool, wake)
  }

  /** Opens no connection yet. */
  static open({ listenOn, ...access }: SupabaseStateOptions): SupabaseWorkflowStateAdapter {
    const listener = listenOn && new RunQueueListener(listenOn)
    return new SupabaseWorkflowStateAdapter({ functions: new StateFunctions(access), listener }, undefined)
  }

  bind(claim: RunClaim): SupabaseWorkflowStateAdapter {
    return new SupabaseWorkflowStateAdapter(this.#store, claim)
  }

  /** Connections belong to the adapter that was opened; a bound one leaves them. Calls under way end too. */
  async close(): Promise<void> {
    if (this.#claim !== undefined) return
    await this.#store.listener?.close()
    this.#functions.close()
  }

  /** The id that the database was made with: the same by every way that leads to it. */
  async databaseId(): Promise<string> {
    return await this.#functions.value<string>('database_id', {})
  }

  /** Whether every write of this database, by whomever, is put into the outbox of the warm tier, in its own transaction. */
  async setMirroring(isOn: boolean): Promise<void> {
    await this.#functions.value('set_mirroring', { is_on: isOn })
  }

  // The journal.

  async onRunStart(runId: string, start: RunStart): Promise<void> {
    await this.#write('on_run_start', runId, startArguments(start))
  }

  async writeLease(runId: string, runnerId: string, ttlMs: number): Promise<RunClaim> {
    const fence = this.#fence(runId)
    const args = { run_id: runId, ttl_ms: ttlMs, claim_attempts: fence.claim_attempts }
    // A bound adapter writes with its own claim: for another runner that is refused.
    if (this.#claim !== undefined && this.#claim.runnerId !== runnerId) throw claimOfAnother(this.#claim, runId)
    const claimAttempts = await this.#functions.value<number>('write_lease', { ...args, runner_id: runnerId })
    return { runId, runnerId, claimAttempts }
  }

  async refreshLease(runId: string, ttlMs: number): Promise<void> {
    await this.#write('refresh_lease', runId, { ttl_ms: ttlMs })
  }

  async onNodeStart(
    runId: string,
    nodeId: string,
    { attempt, input }: { readonly attempt: number; readonly input?: Json },
  ): Promise<void> {
    await this.#write('on_node_start', runId, { node_id: nodeId, attempt, input })
  }

  async onNodeComplete(
    runId: string,
    nodeId: string,
    output: Json,
    meta?: { readonly attempt: number; readonly durationMs: number },
  ): Promise<void> {
    const args = { node_id: nodeId, output, attempt: meta?.attempt, duration_ms: wholeMs(meta?.durationMs) }
    await this.#write('on_node_complete', runId, args)
  }

  async onNodeRetry(
    runId: string,
    nodeId: string,
    { attempt, error, delayMs }: { readonly attempt: number; readonly error: RunFailure; readonly delayMs: number },
  ): Promise<void> {
    await this.#write('on_node_retry', runId, { node_id: nodeId, attempt, error, delay_ms: wholeMs(delayMs) })
  }

  async onNodeError(
    runId: string,
    nodeId: string,
    { attempt, error }: { readonly attempt: number; readonly error: RunFailure },
  ): Promise<void> {
    await this.#write('on_node_error', runId, { node_id: nodeId, attempt, error })
  }

  async onNodeSkip(runId: string, nodeId: string, reason: SkipReason): Promise<void> {
    await this.#write('on_node_skip', runId, { node_id: nodeId, reason })
  }

  async saveCheckpoint(runId: string, checkpoint: Checkpoint): Promise<void> {
    await this.#write('save_checkpoint', runId, { checkpoint })
  }

  async onRunPaused(runId: string, { nodeIds }: { readonly nodeIds: readonly string[] }): Promise<void> {
    await this.#write('on_run_paused', runId, { node_ids: nodeIds })
  }

  async onRunResumed(runId: string): Promise<void> {
    await this.#write('on_run_resumed', runId)
  }

  async onRunComplete(runId: string, end: { readonly output: Json; readonly durationMs: number }): Promise<void> {
    await this.#write('on_run_complete', runId, { output: end.output, duration_ms: wholeMs(end.durationMs) })
  }

  async onRunError(runId: string, failure: RunFailure): Promise<void> {
    await this.#write('on_run_error', runId, { error: failure })
  }

  async clearLease(runId: string): Promise<void> {
    await this.#write('clear_lease', runId)
  }

  async releaseRun(runId: string, release: { readonly delayMs: number; readonly reason: string }): Promise<void> {
    await this.#write('release_run', runId, { delay_ms: wholeMs(release.delayMs), reason: release.reason })
  }

  async recordPhaseIfChanged(runId: string, phase: string): Promise<void> {
    await this.#write('record_phase_if_changed', runId, { phase })
  }

  async onVariableSet(runId: string, key: string, value: Json): Promise<void> {
    await this.#write('on_variable_set', runId, { key, value })
  }

  /** There is no warm tier here. */
  async onStepProgress(): Promise<void> {}

  async saveDefinition(definition: Parameters<QueueingStateAdapter['saveDefinition']>[0]): Promise<DefinitionRecord> {
    const { flowSlug, shapeHash, shape } = definition
    const args = { flow_slug: flowSlug, shape_hash: shapeHash, shape }
    const [row] = await this.#functions.rows<DefinitionRow>('save_definition', args)
    return definitionRecord(row as DefinitionRow)
  }

  // The queue.

  async enqueueRun(spec: EnqueueSpec): Promise<{ readonly runId: string; readonly created: boolean }> {
    const [row] = await this.#functions.rows<{ id: string; created: boolean }>('enqueue_run', {
      run_id: spec.runId,
      ...startArguments(spec),
      runner_pool: spec.runnerPool,
      idempotency_key: spec.idempotencyKey,
      delay_ms: wholeMs(spec.delayMs),
    })
    const { id, created } = row as { id: string; created: boolean }
    return { runId: id, created }
  }

  async claimNextQueuedRun(args: ClaimArgs): Promise<ClaimedRun | null> {
    const [row] = await this.#functions.rows<RunRow>('claim_next_queued_run', {
      runner_id: args.runnerId,
      lease_ttl_ms: args.leaseTtlMs,
      definition_ids: args.definitionIds,
      runner_pool: args.runnerPool,
    })
    if (row === undefined) return null
    const run = runRecord(row)
    return { claim: { runId: run.runId, runnerId: args.runnerId, claimAttempts: run.claimAttempts }, run }
  }

  async heartbeat(beat: RunnerBeat): Promise<{ readonly lost: readonly RunClaim[] }> {
    const lost = await this.#functions.rows<{ run_id: string; claim_attempts: number }>('heartbeat', {
      runner_id: beat.runnerId,
      runner_pool: beat.runnerPool,
      definition_ids: beat.definitionIds,
      ttl_ms: beat.ttlMs,
      capacity: beat.capacity,
      is_accepting: beat.isAccepting,
      refused_flows: beat.refusedFlows,
      workspace_id: beat.workspaceId,
      claims: beat.claims.map(({ runId, claimAttempts }) => ({ run_id: runId, claim_attempts: claimAttempts })),
    })
    return {
      lost: lost.map((row) => ({ runId: row.run_id, runnerId: beat.runnerId, claimAttempts: row.claim_attempts })),
    }
  }

  async removeRunner(runnerId: string): Promise<void> {
    await this.#functions.value('remove_runner', { runner_id: runnerId })
  }

  /** A transaction for each batch: one that takes too long would be undone as a whole, at every sweep again. */
  async expireOldLeases(sweep: Parameters<RunQueue['expireOldLeases']>[0]): Promise<readonly SweptRun[]> {
    const args = { ttl_ms: sweep.ttlMs, max_losses: sweep.maxLosses, reason: sweep.reason, max_rows: BATCH_ROWS }
    const swept: SweptRun[] = []
    for (let found = BATCH_ROWS; found >= BATCH_ROWS; ) {
      const batch = await this.#sweepBatch(args)
      swept.push(...batch)
      found = batch.length
    }
    return swept
  }

  async #sweepBatch(args: Arguments): Promise<readonly SweptRun[]> {
    const rows = await this.#functions.rows<{ run_id: string; outcome: SweptRun['outcome'] }>('expire_old_leases', args)
    return rows.map(({ run_id, outcome }) => ({ runId: run_id, outcome }))
  }

  async listUnservedRuns(args: Parameters<RunQueue['listUnservedRuns']>[0]): Promise<readonly UnservedRun[]> {
    const { workspaceId, limit } = args
    const given = { workspace_id: workspaceId, max_rows: limit }
    return (await this.#functions.rows<UnservedRow>('list_unserved_runs', given)).map(unservedRun)
  }

  async listRunners(): Promise<readonly RunnerRecord[]> {
    return (await this.#functions.rows<RunnerRow>('list_runners', {})).map(runnerRecord)
  }

  async listLeases({ workspaceId, limit }: Parameters<RunQueue['listLeases']>[0]): Promise<readonly HeldLease[]> {
    const given = { workspace_id: workspaceId, max_rows: limit }
    return (await this.#functions.rows<ListedRunRow>('list_leases', given)).map(heldLease)
  }

  // Durable waits.

  async openWait(
    runId: string,
    { nodeId, timeoutMs }: { readonly nodeId: string; readonly timeoutMs: number | null },
  ): Promise<WaitRecord> {
    const args = { node_id: nodeId, timeout_ms: timeoutMs === null ? null : wholeMs(timeoutMs) }
    const [row] = await this.#write<readonly WaitRow[]>('open_wait', runId, args)
    return waitRecord(row as WaitRow)
  }

  async resumeWait(runId: string, nodeId: string, payload: Json): Promise<ResumeOutcome> {
    return await this.#functions.value('resume_wait', { run_id: runId, node_id: nodeId, payload })
  }

  async readWaits(runId: string): Promise<readonly WaitRecord[]> {
    return (await this.#functions.rows<WaitRow>('read_waits', { run_id: runId })).map(waitRecord)
  }

  async listOpenWaits(args: Parameters<QueueingStateAdapter['listOpenWaits']>[0]): Promise<readonly OpenWait[]> {
    const { workspaceId, limit } = args
    const given = { workspace_id: workspaceId, max_rows: limit }
    return (await this.#functions.rows<OpenWaitRow>('list_open_waits', given)).map(openWait)
  }

  // Worker jobs.

  async enqueueWorkerJob(
    runId: string,
    nodeId: string,
    job: Parameters<WorkerJobStore['enqueueWorkerJob']>[2],
  ): Promise<WorkerJobRecord> {
    const { kind, payload, idempotencyKey } = job
    const args = { node_id: nodeId, kind, payload, idempotency_key: idempotencyKey }
    const [row] = await this.#write<readonly WorkerJobRow[]>('enqueue_worker_job', runId, args)
    return workerJobRecord(row as WorkerJobRow)
  }

  async readWorkerJob(jobId: string): Promise<WorkerJobRecord | null> {
    const [row] = await this.#functions.rows<WorkerJobRow>('read_worker_job', { job_id: jobId })
    return row === undefined ? null : workerJobRecord(row)
  }

  async cancelWorkerJob(jobId: string): Promise<void> {
    await this.#functions.value('cancel_worker_job', { job_id: jobId })
  }

  // Session variables.

  async sessionGet(sessionId: string, key: string): Promise<Json | null> {
    return await this.#functions.value('session_get', { session_id: sessionId, key })
  }

  async sessionSet(
    sessionId: string,
    key: string,
    value: Json,
    { runId, keepForMs }: { readonly runId: string; readonly keepForMs?: number | undefined },
  ): Promise<void> {
    await this.#write('session_set', runId, { session_id: sessionId, key, value, keep_for_ms: wholeMs(keepForMs) })
  }

  async collectSessions(): Promise<number> {
    return await this.#functions.value('collect_sessions', {})
  }

  // Reads, and what people decide.

  async readRun(runId: string): Promise<RunRecord | null> {
    const [row] = await this.#functions.rows<RunRow>('read_run', { run_id: runId })
    return row === undefined ? null : runRecord(row)
  }

  async readEvents(
    runId: string,
    { afterId, limit, nodeId }: NonNullable<Parameters<WorkflowStateAdapter['readEvents']>[1]> = {},
  ): Promise<readonly RunEvent[]> {
    const events: RunEvent[] = []
    for (let found = BATCH_ROWS; found >= BATCH_ROWS; ) {
      const max_rows = Math.min(BATCH_ROWS, (limit ?? Number.POSITIVE_INFINITY) - events.length)
      const args = { run_id: runId, after_id: events.at(-1)?.id ?? afterId, max_rows, node_id: nodeId }
      const batch = await this.#functions.value<readonly EventRow[]>('read_events', args)
      events.push(...batch.map(runEvent))
      found = batch.length
    }
    return events
  }

  async readDefinition(definitionId: string): Promise<DefinitionRecord | null> {
    const [row] = await this.#functions.rows<DefinitionRow>('read_definition', { definition_id: definitionId })
    return row === undefined ? null : definitionRecord(row)
  }

  async listRuns(query: RunQuery): Promise<RunPage> {
    const before = query.before === undefined ? undefined : readRunCursor(query.before)
    const search = query.search === undefined ? undefined : parseRunSearch(query.search)
    const rows = await this.#functions.rows<ListedRunRow>('list_runs', {
      workspace_id: query.workspaceId,
      env: query.env,
      template_id: query.templateId,
      statuses: query.statuses,
      search: search?.kind === 'text' ? search.text : undefined,
      first_id: search?.kind === 'id' ? search.firstId : undefined,
      last_id: search?.kind === 'id' ? search.lastId : undefined,
      created_from: query.createdFrom,
      created_before: query.createdBefore,
      before_created_at: before?.createdAt,
      before_id: before?.runId,
      // One more tells whether there is another page.
      max_rows: query.limit + 1,
      look_at: query.lookAt,
    })
    const page = rows.filter((row) => row.is_found).slice(0, query.limit)
    // A look that ended early goes on behind the last run that it looked at.
    const end = rows.find((row) => !row.is_found)
    const last = end ?? page.at(-1)
    const hasMore = rows.length > page.length && last !== undefined
    return {
      runs: page.map(listedRun),
      lookedUntil: end === undefined ? null : listedRun(end).createdAt,
      next: hasMore ? writeRunCursor({ createdAt: last.created_at, runId: last.id }) : null,
    }
  }

  async cancelRun(runId: string, reason: string): Promise<boolean> {
    return await this.#functions.value('cancel_run', { run_id: runId, reason })
  }

  async retryRun(runId: string): Promise<boolean> {
    return await this.#functions.value('retry_run', { run_id: runId })
  }

  /** A write of a run, fenced. */
  async #write<T>(name: string, runId: string, args: Arguments = {}): Promise<T> {
    return await this.#functions.value<T>(name, { run_id: runId, ...args, ...this.#fence(runId) })
  }

  #fence(runId: string): { readonly runner_id?: string; readonly claim_attempts?: number } {
    if (this.#claim === undefined) return {}
    // Its numbers might be those of the other run's claim too.
    if (this.#claim.runId !== runId) throw claimOfAnother(this.#claim, runId)
    return { runner_id: this.#claim.runnerId, claim_attempts: this.#claim.claimAttempts }
  }
}

function startArguments({ templateId, workspaceId, env, input, definitionId, traceparent }: RunStart): Arguments {
  return { template_id: templateId, workspace_id: workspaceId, env, input, definition_id: definitionId, traceparent }
}

/** Postgres refuses a fraction where it takes a whole number. */
function wholeMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.ceil(ms)
}

function claimOfAnother(claim: RunClaim, runId: string): StarflowError {
  return new StarflowError({
    code: 'SF801',
    message: `Runner "${claim.runnerId}" does not hold run ${runId} by this claim.`,
    detail: `The claim is of run ${claim.runId}.`,
    hint: 'Write through the adapter that is bound to the claim of this run.',
    fields: { runId, claimedRunId: claim.runId },
  })
}

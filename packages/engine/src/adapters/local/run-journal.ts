import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { FlowShape, Json, JsonObject } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { Checkpoint, DefinitionRecord, RunClaim, RunFailure } from '../../run-record.ts'
import type { RunStart } from '../../state-adapter.ts'
import { appendEvent, endRun, queueRun, updateRun } from './run-changes.ts'
import { checkClaim, findRun, isSpent, openRun, refuseEnd, type Writer } from './run-fence.ts'
import { json, type RunRow } from './run-row.ts'
import type { Transaction } from './state-database.ts'

/** The write boundaries of a run: see the methods of the same names in the port. */

export function startRun(transaction: Transaction, writer: Writer, runId: string, start: RunStart): void {
  // Who has a claim has a run.
  if (writer === undefined && insertRunning(transaction, runId, start)) return
  const run = openRun(transaction, writer, runId)
  checkSameRun(run, start)
  if (run.claim_state === 'running' || run.claim_state === 'paused') return
  updateRun(transaction, runId, {
    status: run.status === 'paused' ? 'paused' : 'running',
    claim_state: 'running',
    claim_state_at: transaction.now,
    started_at: run.started_at ?? transaction.now,
  })
  if (run.started_at === null) appendEvent(transaction, runId, 'run_started')
}

function insertRunning(transaction: Transaction, runId: string, start: RunStart): boolean {
  const inserted = transaction.run(
    `insert into workflow_runs (id, template_id, workspace_id, env, input, definition_id, status, claim_state, claim_state_at,
       created_at, started_at, traceparent)
     values (:runId, :templateId, :workspaceId, :env, :input, :definitionId, 'running', 'running', :now, :now, :now, :traceparent)
     on conflict (id) do nothing`,
    { runId, ...startColumns(start), now: transaction.now },
  )
  if (inserted > 0) appendEvent(transaction, runId, 'run_started')
  return inserted > 0
}

export function startColumns({ templateId, workspaceId, env, input, definitionId, traceparent = null }: RunStart) {
  return { templateId, workspaceId, env, definitionId, traceparent, input: JSON.stringify(input) }
}

/** An id, or an idempotency key, that is used again must mean the same run. */
export function checkSameRun(run: RunRow, start: RunStart): void {
  const isOfWorkspace = run.workspace_id === start.workspaceId
  if (isOfWorkspace && run.template_id === start.templateId && run.env === start.env) return
  throw new StarflowError({
    code: 'SF202',
    message: isOfWorkspace
      ? `Run ${run.id} already exists and belongs to flow "${run.template_id}".`
      : `Run id ${run.id} cannot be used.`,
    detail: isOfWorkspace
      ? `It is of env "${run.env}"; asked for was a run of flow "${start.templateId}" in env "${start.env}".`
      : `It was asked for flow "${start.templateId}".`,
    hint: isOfWorkspace ? 'Use another id or idempotency key, or leave it out.' : 'Use a new run id.',
    fields: { runId: run.id },
  })
}

export function writeLease(
  transaction: Transaction,
  writer: Writer,
  runId: string,
  runnerId: string,
  ttlMs: number,
): RunClaim {
  const run = findRun(transaction, runId)
  if (writer !== undefined || run.leased_by !== runnerId) checkClaim(run, writer)
  refuseEnd(run)
  const claimAttempts = run.claim_attempts + (run.leased_by === null ? 1 : 0)
  // A run out of the queue is claimed until it starts.
  const claimState = run.claim_state === 'queued' || run.claim_state === 'claimed' ? 'claimed' : 'running'
  updateRun(transaction, runId, {
    claim_state: claimState,
    claim_state_at: claimState === run.claim_state ? run.claim_state_at : transaction.now,
    claim_attempts: claimAttempts,
    leased_by: runnerId,
    lease_until: transaction.now + ttlMs,
    last_heartbeat: transaction.now,
  })
  return { runId, runnerId, claimAttempts }
}

export function refreshLease(transaction: Transaction, writer: Writer, runId: string, ttlMs: number): void {
  const run = findRun(transaction, runId)
  checkClaim(run, writer)
  if (run.leased_by === null) refuseLeaseless(run)
  updateRun(transaction, runId, { lease_until: transaction.now + ttlMs, last_heartbeat: transaction.now })
}

function refuseLeaseless(run: RunRow): never {
  refuseEnd(run)
  throw new StarflowError({
    code: 'SF801',
    message: `Nobody holds run ${run.id}.`,
    detail: `It is ${run.status} (${run.claim_state}) and has no lease that could be refreshed.`,
    hint: 'Write a lease first, and refresh it with its claim.',
    fields: { runId: run.id },
  })
}

/** A node has its one output: the first one that was accepted. */
export function completeNode(
  transaction: Transaction,
  writer: Writer,
  runId: string,
  nodeId: string,
  payload: JsonObject,
): void {
  openRun(transaction, writer, runId)
  const earlier = transaction.first(
    `select 1 from workflow_run_events where run_id = :runId and node_id = :nodeId and event_type = 'node_complete'`,
    { runId, nodeId },
  )
  if (earlier === undefined) appendEvent(transaction, runId, 'node_complete', payload, nodeId)
}

export function recordPhase(transaction: Transaction, writer: Writer, runId: string, phase: string): void {
  const run = openRun(transaction, writer, runId)
  if (run.phase === phase) return
  updateRun(transaction, runId, { phase })
  appendEvent(transaction, runId, 'phase', { phase })
}

export function setVariable(transaction: Transaction, writer: Writer, runId: string, key: string, value: Json): void {
  openRun(transaction, writer, runId)
  const last = transaction.first<{ payload_json: string }>(
    `select payload_json from workflow_run_events
     where run_id = :runId and node_id is null and event_type = 'variable' and payload_json ->> 'key' = :key
     order by id desc limit 1`,
    { runId, key },
  )
  const isTheSame =
    last !== undefined && isDeepStrictEqual((json(last.payload_json) as JsonObject).value, asJson(value))
  if (!isTheSame) appendEvent(transaction, runId, 'variable', { key, value })
}

/** As it would be read again. */
function asJson(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

export function saveCheckpoint(transaction: Transaction, writer: Writer, runId: string, checkpoint: Checkpoint): void {
  openRun(transaction, writer, runId)
  updateRun(transaction, runId, { checkpoint_json: JSON.stringify(checkpoint) })
}

export function pauseRun(transaction: Transaction, writer: Writer, runId: string, nodeIds: readonly string[]): void {
  const run = openRun(transaction, writer, runId)
  const pausedNodes = JSON.stringify(nodeIds)
  if (run.status === 'paused' && run.paused_nodes === pausedNodes) return
  updateRun(transaction, runId, {
    status: 'paused',
    paused_nodes: pausedNodes,
    claim_state: 'running',
    claim_state_at: run.claim_state === 'running' ? run.claim_state_at : transaction.now,
  })
  appendEvent(transaction, runId, 'run_paused', { nodes: nodeIds })
}

export function resumeRun(transaction: Transaction, writer: Writer, runId: string): void {
  const run = openRun(transaction, writer, runId)
  if (run.status !== 'paused') return
  updateRun(transaction, runId, {
    status: 'running',
    checkpoint_json: null,
    paused_nodes: null,
    claim_state: 'running',
    claim_state_at: run.claim_state === 'running' ? run.claim_state_at : transaction.now,
  })
  appendEvent(transaction, runId, 'run_resumed')
}

export function completeRun(
  transaction: Transaction,
  writer: Writer,
  runId: string,
  end: { readonly output: Json; readonly durationMs: number },
): void {
  const run = findRun(transaction, runId)
  checkClaim(run, writer)
  if (run.status === 'success') return
  refuseEnd(run)
  const durationMs = Math.max(0, Math.round(end.durationMs))
  endRun(transaction, run, {
    status: 'success',
    claim_state: 'complete',
    output: JSON.stringify(end.output),
    duration_ms: durationMs,
  })
  appendEvent(transaction, runId, 'run_completed', { duration_ms: durationMs })
}

export function failRun(transaction: Transaction, writer: Writer, runId: string, failure: RunFailure): void {
  const run = findRun(transaction, runId)
  checkClaim(run, writer)
  if (run.status === 'error') return
  refuseEnd(run)
  endRun(transaction, run, { status: 'error', claim_state: 'failed', error: failure.message })
  appendEvent(transaction, runId, 'run_failed', { error: failureJson(failure) })
}

export function failureJson({ name, message, stack, code }: RunFailure): JsonObject {
  return { name, message, stack, code }
}

export function clearLease(transaction: Transaction, writer: Writer, runId: string): void {
  const run = findRun(transaction, runId)
  if (isSpent(run, writer)) return
  checkClaim(run, writer)
  // A wait that ended while the run was still held has queued nothing: it is done here, or nobody would. What was claimed and
  // never started goes back as well.
  if (run.claim_state === 'claimed' || (run.claim_state === 'running' && isWaitOver(transaction, run))) {
    queueRun(transaction, run)
    return
  }
  const waits = run.status === 'paused' && run.claim_state === 'running'
  updateRun(transaction, runId, {
    leased_by: null,
    lease_until: null,
    ...(waits && { claim_state: 'paused', claim_state_at: transaction.now }),
  })
}

/** Whether one of the waits that the run was paused for has its payload, or its timeout, already. */
function isWaitOver(transaction: Transaction, run: RunRow): boolean {
  const ended = transaction.first(
    `select 1 from workflow_waits
     where run_id = :runId and status <> 'open' and node_id in (select value from json_each(:nodes)) limit 1`,
    { runId: run.id, nodes: run.paused_nodes ?? '[]' },
  )
  return ended !== undefined
}

export function releaseRun(
  transaction: Transaction,
  writer: Writer,
  runId: string,
  release: { readonly delayMs: number; readonly reason: string },
): void {
  const run = findRun(transaction, runId)
  if (isSpent(run, writer) || (writer === undefined && run.claim_state === 'queued')) return
  checkClaim(run, writer)
  refuseEnd(run)
  // Whatever else it waits for: a wait that is over already lets the run go on at once.
  queueRun(transaction, run, run.status === 'paused' && isWaitOver(transaction, run) ? 0 : release.delayMs)
  appendEvent(transaction, runId, 'run_released', { reason: release.reason })
}

export function saveDefinition(
  transaction: Transaction,
  definition: { readonly flowSlug: string; readonly shapeHash: string; readonly shape: FlowShape },
): DefinitionRecord {
  const { flowSlug, shapeHash } = definition
  transaction.run(
    `insert into workflow_definitions (id, flow_slug, shape_hash, shape, created_at)
     values (:id, :flowSlug, :shapeHash, :shape, :now) on conflict do nothing`,
    { id: randomUUID(), flowSlug, shapeHash, shape: JSON.stringify(definition.shape), now: transaction.now },
  )
  const kept = transaction.first<{ id: string; shape: string }>(
    'select id, shape from workflow_definitions where flow_slug = :flowSlug and shape_hash = :shapeHash',
    { flowSlug, shapeHash },
  )!
  return { definitionId: kept.id, flowSlug, shapeHash, shape: JSON.parse(kept.shape) as FlowShape }
}

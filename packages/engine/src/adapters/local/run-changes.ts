import type { JsonObject } from '@starflow/dsl'
import type { RunEventType } from '../../run-record.ts'
import type { EventRow, RunRow } from './run-row.ts'
import type { Transaction } from './state-database.ts'

/** The changes of a run that several methods make. Whoever calls them has checked the claim. */

export function updateRun(transaction: Transaction, runId: string, changes: Partial<RunRow>): void {
  const assignments = Object.keys(changes).map((column) => `${column} = :${column}`)
  transaction.run(`update workflow_runs set ${assignments.join(', ')} where id = :runId`, { ...changes, runId })
}

/** Puts a run into the queue, behind a delay. Nobody holds it then; its status becomes queued unless it is paused. */
export function queueRun(transaction: Transaction, run: RunRow, delayMs = 0): void {
  const { now } = transaction
  updateRun(transaction, run.id, {
    status: run.status === 'paused' ? 'paused' : 'queued',
    claim_state: 'queued',
    claim_state_at: now,
    leased_by: null,
    lease_until: null,
    queued_at: now,
    available_at: now + Math.max(0, delayMs),
  })
  transaction.wakeRunners()
}

/**
 * A wait of the run has just ended: queues it if it does nothing but wait, also for a delay beside the wait. One that a runner still
 * holds is queued when it gives the run up.
 */
export function queueWhenWaitIsOver(transaction: Transaction, run: RunRow): void {
  const isBehindDelay = run.claim_state === 'queued' && (run.available_at ?? 0) > transaction.now
  if (run.claim_state === 'paused' || isBehindDelay) queueRun(transaction, run)
}

/** Gives a run its end, and drops what goes with it: checkpoint, open waits, session variables that nobody keeps. */
export function endRun(
  transaction: Transaction,
  run: RunRow,
  end: Pick<RunRow, 'status' | 'claim_state'> & Partial<Pick<RunRow, 'output' | 'error' | 'duration_ms'>>,
): void {
  const { now } = transaction
  updateRun(transaction, run.id, {
    output: null,
    error: null,
    duration_ms: run.started_at === null ? 0 : Math.max(0, now - run.started_at),
    ...end,
    claim_state_at: now,
    checkpoint_json: null,
    paused_nodes: null,
    completed_at: end.status === 'cancelled' ? null : now,
    cancelled_at: end.status === 'cancelled' ? now : null,
  })
  transaction.run(`delete from workflow_waits where run_id = :runId and status = 'open'`, { runId: run.id })
  transaction.run('delete from workflow_session_vars where run_id = :runId and keep_until is null', { runId: run.id })
}

export function appendEvent(
  transaction: Transaction,
  runId: string,
  type: RunEventType,
  payload: JsonObject | null = null,
  nodeId: string | null = null,
): void {
  transaction.run(
    `insert into workflow_run_events (run_id, event_type, node_id, payload_json, created_at)
     values (:runId, :type, :nodeId, :payload, :now)`,
    { runId, type, nodeId, payload: payload === null ? null : JSON.stringify(payload), now: transaction.now },
  )
}

/**
 * Appends an event of a node unless it is a repetition after a lost answer: the last one of the node, of the same attempt,
 * and the run has not changed hands since.
 */
export function appendNodeEvent(
  transaction: Transaction,
  runId: string,
  nodeId: string,
  type: RunEventType,
  payload: JsonObject,
): void {
  const last = transaction.first<EventRow>(
    'select * from workflow_run_events where run_id = :runId and node_id = :nodeId order by id desc limit 1',
    { runId, nodeId },
  )
  const isAlike = last?.event_type === type && attemptOf(last) === payload.attempt
  if (isAlike && !hasChangedHands(transaction, runId, last.id)) return
  appendEvent(transaction, runId, type, payload, nodeId)
}

function attemptOf(event: EventRow): unknown {
  return event.payload_json === null ? undefined : (JSON.parse(event.payload_json) as JsonObject).attempt
}

function hasChangedHands(transaction: Transaction, runId: string, sinceId: number): boolean {
  const change = transaction.first(
    `select 1 from workflow_run_events
     where run_id = :runId and node_id is null and id > :sinceId
       and event_type in ('runner_lost', 'run_released', 'run_resumed', 'run_retried')
     limit 1`,
    { runId, sinceId },
  )
  return change !== undefined
}

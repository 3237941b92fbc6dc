import type { Json } from '@starflow/dsl'
import type { OpenWait, ResumeOutcome, WaitRecord } from '../../state-adapter.ts'
import { queueWhenWaitIsOver } from './run-changes.ts'
import { hasEnded, openRun, type Writer } from './run-fence.ts'
import { type OpenWaitRow, openWaitRecord, type RunRow, type WaitRow, waitRecord } from './run-row.ts'
import type { Transaction } from './state-database.ts'

export function openWait(
  transaction: Transaction,
  writer: Writer,
  runId: string,
  { nodeId, timeoutMs }: { readonly nodeId: string; readonly timeoutMs: number | null },
): WaitRecord {
  openRun(transaction, writer, runId)
  const { now } = transaction
  transaction.run(
    `insert into workflow_waits (run_id, node_id, status, opened_at, due_at, created_at)
     values (:runId, :nodeId, 'open', :now, :dueAt, :now)
     on conflict (run_id, node_id) do update set status = 'resumed', opened_at = :now, ended_at = :now
     where workflow_waits.status = 'early'`,
    { runId, nodeId, now, dueAt: timeoutMs === null ? null : now + timeoutMs },
  )
  return waitRecord(findWait(transaction, runId, nodeId) as WaitRow)
}

export function resumeWait(transaction: Transaction, runId: string, nodeId: string, payload: Json): ResumeOutcome {
  const run = transaction.first<RunRow>('select * from workflow_runs where id = :runId', { runId })
  if (run === undefined) return 'not_found'
  const wait = findWait(transaction, runId, nodeId)
  if (wait === undefined && !hasWait(transaction, run.definition_id, nodeId)) return 'no_wait'
  if (hasEnded(run)) return 'run_ended'
  if (wait === undefined) {
    transaction.run(
      `insert into workflow_waits (run_id, node_id, status, payload_json, created_at)
       values (:runId, :nodeId, 'early', :payload, :now)`,
      { runId, nodeId, payload: JSON.stringify(payload), now: transaction.now },
    )
    return 'early'
  }
  if (wait.status !== 'open') return wait.status === 'timed_out' ? 'timed_out' : 'already_resumed'
  const isTooLate = wait.due_at !== null && wait.due_at <= transaction.now
  transaction.run(
    `update workflow_waits set status = :status, payload_json = :payload, ended_at = :now
     where run_id = :runId and node_id = :nodeId`,
    {
      runId,
      nodeId,
      status: isTooLate ? 'timed_out' : 'resumed',
      payload: isTooLate ? null : JSON.stringify(payload),
      now: transaction.now,
    },
  )
  queueWhenWaitIsOver(transaction, run)
  return isTooLate ? 'timed_out' : 'accepted'
}

export function readWaits(transaction: Transaction, runId: string): WaitRecord[] {
  return transaction
    .all<WaitRow>('select * from workflow_waits where run_id = :runId order by created_at, node_id', { runId })
    .map(waitRecord)
}

export function listOpenWaits(
  transaction: Transaction,
  { workspaceId, limit }: { readonly workspaceId?: string | undefined; readonly limit: number },
): OpenWait[] {
  return transaction
    .all<OpenWaitRow>(
      `select w.run_id, w.node_id, r.template_id, w.opened_at, w.due_at
       from workflow_waits w join workflow_runs r on r.id = w.run_id
       where w.status = 'open' and (:workspaceId is null or r.workspace_id = :workspaceId)
       order by w.opened_at, w.run_id, w.node_id limit :limit`,
      { workspaceId: workspaceId ?? null, limit },
    )
    .map(openWaitRecord)
}

/** A run that is tied to no definition says nothing of its steps: then any may be a wait. */
function hasWait(transaction: Transaction, definitionId: string | null, nodeId: string): boolean {
  if (definitionId === null) return true
  const row = transaction.first(
    `select 1 from workflow_definitions d, json_each(d.shape, '$.steps') s
     where d.id = :definitionId and s.value ->> 'slug' = :nodeId and s.value ->> 'stepType' = 'wait'`,
    { definitionId, nodeId },
  )
  return row !== undefined
}

function findWait(transaction: Transaction, runId: string, nodeId: string): WaitRow | undefined {
  return transaction.first<WaitRow>('select * from workflow_waits where run_id = :runId and node_id = :nodeId', {
    runId,
    nodeId,
  })
}

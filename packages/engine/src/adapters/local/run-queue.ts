import type { RunClaim } from '../../run-record.ts'
import type {
  ClaimArgs,
  ClaimedRun,
  EnqueueSpec,
  HeldLease,
  RunnerBeat,
  RunnerRecord,
  SweptRun,
  UnservedRun,
} from '../../state-adapter.ts'
import { appendEvent, endRun, queueRun, queueWhenWaitIsOver, updateRun } from './run-changes.ts'
import { hasEnded } from './run-fence.ts'
import { checkSameRun, startColumns } from './run-journal.ts'
import { instant, type RunRow, runClaim, runRecord } from './run-row.ts'
import type { Transaction } from './state-database.ts'

/** A runner that has been silent for so long is forgotten. */
const FORGOTTEN_AFTER_MS = 86_400_000

export function enqueueRun(transaction: Transaction, spec: EnqueueSpec): { runId: string; created: boolean } {
  const { runId, idempotencyKey = null, runnerPool = null, delayMs = 0 } = spec
  const existing = findSameRun(transaction, spec)
  if (existing !== undefined) {
    checkSameRun(existing, spec)
    return { runId: existing.id, created: false }
  }
  transaction.run(
    `insert into workflow_runs (id, template_id, workspace_id, env, input, definition_id, runner_pool, idempotency_key, status,
       claim_state, claim_state_at, created_at, queued_at, available_at, traceparent)
     values (:runId, :templateId, :workspaceId, :env, :input, :definitionId, :runnerPool, :idempotencyKey, 'queued',
       'queued', :now, :now, :now, :availableAt, :traceparent)`,
    {
      runId,
      ...startColumns(spec),
      runnerPool,
      idempotencyKey,
      now: transaction.now,
      availableAt: transaction.now + Math.max(0, delayMs),
    },
  )
  transaction.wakeRunners()
  return { runId, created: true }
}

function findSameRun(transaction: Transaction, spec: EnqueueSpec): RunRow | undefined {
  const { runId, workspaceId, env, idempotencyKey = null } = spec
  return (
    transaction.first<RunRow>('select * from workflow_runs where id = :runId', { runId }) ??
    transaction.first<RunRow>(
      'select * from workflow_runs where workspace_id = :workspaceId and env = :env and idempotency_key = :idempotencyKey',
      { workspaceId, env, idempotencyKey },
    )
  )
}

/** The oldest run that is due, and then the update that only one runner's condition holds for. */
export function claimNextQueuedRun(transaction: Transaction, args: ClaimArgs): ClaimedRun | null {
  const { now } = transaction
  const oldest = transaction.first<{ id: string }>(
    `select id from workflow_runs
     where claim_state = 'queued' and available_at <= :now and (runner_pool is null or runner_pool = :runnerPool)
       and definition_id in (select value from json_each(:definitionIds))
     order by queued_at, created_at, id limit 1`,
    { now, runnerPool: args.runnerPool ?? null, definitionIds: JSON.stringify(args.definitionIds) },
  )
  if (oldest === undefined) return null
  const claimed = transaction.first<RunRow>(
    `update workflow_runs set
       claim_state = 'claimed', claim_state_at = :now, leased_by = :runnerId, lease_until = :leaseUntil, last_heartbeat = :now,
       claim_attempts = claim_attempts + 1
     where id = :id and claim_state = 'queued' returning *`,
    { id: oldest.id, now, runnerId: args.runnerId, leaseUntil: now + args.leaseTtlMs },
  )
  return claimed === undefined ? null : { claim: runClaim(claimed), run: runRecord(claimed) }
}

export function heartbeat(transaction: Transaction, beat: RunnerBeat): { lost: RunClaim[] } {
  const { now } = transaction
  transaction.run(
    `insert into workflow_runners (runner_id, runner_pool, capacity, definition_ids, live_until, is_accepting, refused_flows, workspace_id,
       last_heartbeat, started_at)
     values (:runnerId, :runnerPool, :capacity, :definitionIds, :liveUntil, :isAccepting, :refusedFlows, :workspaceId, :now, :now)
     on conflict (runner_id) do update set
       runner_pool = excluded.runner_pool, capacity = excluded.capacity, definition_ids = excluded.definition_ids,
       live_until = excluded.live_until, is_accepting = excluded.is_accepting, refused_flows = excluded.refused_flows,
       workspace_id = excluded.workspace_id, last_heartbeat = excluded.last_heartbeat`,
    {
      runnerId: beat.runnerId,
      runnerPool: beat.runnerPool ?? null,
      capacity: beat.capacity,
      definitionIds: JSON.stringify(beat.definitionIds),
      liveUntil: now + beat.ttlMs,
      isAccepting: (beat.isAccepting ?? true) ? 1 : 0,
      refusedFlows: JSON.stringify(beat.refusedFlows ?? {}),
      workspaceId: beat.workspaceId ?? null,
      now,
    },
  )
  const isHeld = (claim: RunClaim) =>
    transaction.run(
      `update workflow_runs set lease_until = :leaseUntil, last_heartbeat = :now
       where id = :runId and leased_by = :runnerId and claim_attempts = :claimAttempts`,
      { ...claim, runnerId: beat.runnerId, leaseUntil: now + beat.ttlMs, now },
    ) > 0
  return { lost: beat.claims.filter((claim) => !isHeld(claim)) }
}

export function removeRunner(transaction: Transaction, runnerId: string): void {
  transaction.run('delete from workflow_runners where runner_id = :runnerId', { runnerId })
}

export function expireOldLeases(
  transaction: Transaction,
  sweep: { readonly ttlMs: number; readonly maxLosses: number; readonly reason: string },
): SweptRun[] {
  transaction.run('delete from workflow_runners where live_until < :before', {
    before: transaction.now - FORGOTTEN_AFTER_MS,
  })
  return [...lostRuns(transaction, sweep), ...runsWithWaitOver(transaction)]
}

function lostRuns(
  transaction: Transaction,
  { ttlMs, maxLosses, reason }: { readonly ttlMs: number; readonly maxLosses: number; readonly reason: string },
): SweptRun[] {
  const { now } = transaction
  const lost = transaction.all<RunRow>(
    `select * from workflow_runs where lease_until < :now
     union all
     select * from workflow_runs where lease_until is null and claim_state = 'running' and claim_state_at < :before
     order by id`,
    { now, before: now - ttlMs },
  )
  return lost.flatMap((run): SweptRun[] => {
    if (hasEnded(run)) {
      updateRun(transaction, run.id, { leased_by: null, lease_until: null })
      return []
    }
    return [{ runId: run.id, outcome: loseRunner(transaction, run, maxLosses, reason) }]
  })
}

/** Back to the queue, as long as that was so fewer than `maxLosses` times since the run got on or was retried. */
function loseRunner(
  transaction: Transaction,
  run: RunRow,
  maxLosses: number,
  reason: string,
): 'requeued' | 'abandoned' {
  const { losses } = transaction.first<{ losses: number }>(
    `select count(*) as losses from workflow_run_events
     where run_id = :runId and event_type = 'runner_lost' and id > coalesce((
       select max(id) from workflow_run_events
       where run_id = :runId and event_type in ('node_complete', 'run_retried')), 0)`,
    { runId: run.id },
  )!
  appendEvent(transaction, run.id, 'runner_lost', { runner_id: run.leased_by, reason })
  if (losses < maxLosses) {
    queueRun(transaction, run)
    return 'requeued'
  }
  endRun(transaction, run, { status: 'error', claim_state: 'abandoned', error: reason })
  updateRun(transaction, run.id, { leased_by: null, lease_until: null })
  appendEvent(transaction, run.id, 'run_failed', { error: { name: 'RunnerLostError', message: reason } })
  return 'abandoned'
}

function runsWithWaitOver(transaction: Transaction): SweptRun[] {
  const { now } = transaction
  const waiting = transaction.all<RunRow>(
    `select * from workflow_runs
     where status = 'paused' and id in (select run_id from workflow_waits where status = 'open' and due_at <= :now)
     order by id`,
    { now },
  )
  return waiting.map((run): SweptRun => {
    transaction.run(
      `update workflow_waits set status = 'timed_out', ended_at = :now
       where run_id = :runId and status = 'open' and due_at <= :now`,
      { runId: run.id, now },
    )
    queueWhenWaitIsOver(transaction, run)
    return { runId: run.id, outcome: 'wait_over' }
  })
}

export function listUnservedRuns(
  transaction: Transaction,
  { workspaceId, limit }: { readonly workspaceId?: string | undefined; readonly limit: number },
): UnservedRun[] {
  const rows = transaction.all<RunRow & Pick<UnservedRun, 'reason' | 'detail'>>(
    `with live as (
       select runner_pool, definition_ids, refused_flows from workflow_runners where live_until > :now and is_accepting = 1
     ), servers as (
       select live.runner_pool, served.value as definition_id from live, json_each(live.definition_ids) as served
     ), refusals as (
       select refused.key as flow_slug, refused.value as why from live, json_each(live.refused_flows) as refused
     )
     select r.*, (select why from refusals where flow_slug = r.template_id) as detail,
       case when not exists (select 1 from live) then 'no_runner'
            when r.definition_id in (select definition_id from servers) then 'other_pool'
            when r.template_id in (select flow_slug from refusals) then 'refused'
            else 'other_definition' end as reason
     from workflow_runs r
     where r.claim_state = 'queued' and r.available_at <= :now and (:workspaceId is null or r.workspace_id = :workspaceId)
       and not exists (
         select 1 from servers s
         where s.definition_id = r.definition_id and (r.runner_pool is null or r.runner_pool = s.runner_pool))
     order by r.queued_at, r.created_at, r.id limit :limit`,
    { now: transaction.now, workspaceId: workspaceId ?? null, limit },
  )
  return rows.map((row) => ({
    runId: row.id,
    templateId: row.template_id,
    queuedAt: instant(row.queued_at) as string,
    runnerPool: row.runner_pool,
    reason: row.reason,
    detail: row.detail,
  }))
}

export function listLeases(
  transaction: Transaction,
  { workspaceId, limit }: { readonly workspaceId?: string | undefined; readonly limit: number },
): HeldLease[] {
  const rows = transaction.all<RunRow & { readonly leased_by: string }>(
    `select * from workflow_runs
     where lease_until is not null and (:workspaceId is null or workspace_id = :workspaceId)
     order by lease_until, id limit :limit`,
    { workspaceId: workspaceId ?? null, limit },
  )
  return rows.map((row) => ({
    runId: row.id,
    templateId: row.template_id,
    workspaceId: row.workspace_id,
    runnerId: row.leased_by,
    claimState: row.claim_state,
    claimAttempts: row.claim_attempts,
    leaseUntil: instant(row.lease_until) as string,
    lastHeartbeat: instant(row.last_heartbeat),
  }))
}

export function listRunners(transaction: Transaction): RunnerRecord[] {
  const rows = transaction.all<{
    runner_id: string
    runner_pool: string | null
    capacity: number
    runs: number
    last_heartbeat: number
    live_until: number
    is_accepting: number
    workspace_id: string | null
  }>(
    `select w.*, (select count(*) from workflow_runs r
                  where r.lease_until is not null and r.leased_by = w.runner_id
                    and r.claim_state in ('claimed', 'running')) as runs
     from workflow_runners w order by w.runner_id`,
  )
  return rows.map((row) => ({
    runnerId: row.runner_id,
    runnerPool: row.runner_pool,
    capacity: row.capacity,
    runs: row.runs,
    lastHeartbeat: instant(row.last_heartbeat) as string,
    isLive: row.live_until > transaction.now,
    isAccepting: row.is_accepting === 1,
    workspaceId: row.workspace_id,
  }))
}

import type { Json } from '@starflow/dsl'
import type {
  Checkpoint,
  ClaimState,
  ListedRun,
  RunClaim,
  RunEvent,
  RunEventType,
  RunRecord,
  RunStatus,
} from '../../run-record.ts'
import type { OpenWait, WaitRecord } from '../../state-adapter.ts'

/** A row of `workflow_runs`: JSON as text, instants in milliseconds. */
export interface RunRow {
  readonly id: string
  readonly template_id: string
  readonly workspace_id: string
  readonly env: string
  readonly status: RunStatus
  readonly input: string
  readonly output: string | null
  readonly error: string | null
  readonly checkpoint_json: string | null
  readonly paused_nodes: string | null
  readonly phase: string | null
  readonly definition_id: string | null
  readonly idempotency_key: string | null
  readonly claim_state: ClaimState
  readonly claim_state_at: number
  readonly runner_pool: string | null
  readonly leased_by: string | null
  readonly lease_until: number | null
  readonly last_heartbeat: number | null
  readonly claim_attempts: number
  readonly created_at: number
  readonly queued_at: number | null
  readonly available_at: number | null
  readonly started_at: number | null
  readonly completed_at: number | null
  readonly cancelled_at: number | null
  readonly duration_ms: number | null
  readonly traceparent: string | null
}

export interface EventRow {
  readonly id: number
  readonly run_id: string
  readonly event_type: RunEventType
  readonly node_id: string | null
  readonly payload_json: string | null
  readonly created_at: number
}

export interface WaitRow {
  readonly run_id: string
  readonly node_id: string
  readonly status: WaitRecord['status']
  readonly payload_json: string | null
  readonly opened_at: number | null
  readonly due_at: number | null
}

export function runRecord(row: RunRow): RunRecord {
  return {
    ...listedRun(row),
    input: json(row.input),
    output: json(row.output),
    checkpoint: json(row.checkpoint_json) as Checkpoint | null,
    traceparent: row.traceparent,
  }
}

export function listedRun(row: Omit<RunRow, 'input' | 'output' | 'checkpoint_json' | 'traceparent'>): ListedRun {
  return {
    runId: row.id,
    templateId: row.template_id,
    workspaceId: row.workspace_id,
    env: row.env,
    status: row.status,
    claimState: row.claim_state,
    error: row.error,
    definitionId: row.definition_id,
    runnerPool: row.runner_pool,
    leasedBy: row.leased_by,
    leaseUntil: instant(row.lease_until),
    lastHeartbeat: instant(row.last_heartbeat),
    claimAttempts: row.claim_attempts,
    createdAt: instant(row.created_at) as string,
    queuedAt: instant(row.queued_at),
    availableAt: instant(row.available_at),
    startedAt: instant(row.started_at),
    completedAt: instant(row.completed_at),
    cancelledAt: instant(row.cancelled_at),
    durationMs: row.duration_ms,
  }
}

export function runClaim(row: RunRow): RunClaim {
  return { runId: row.id, runnerId: row.leased_by as string, claimAttempts: row.claim_attempts }
}

export function runEvent(row: EventRow): RunEvent {
  return {
    id: String(row.id),
    runId: row.run_id,
    type: row.event_type,
    nodeId: row.node_id,
    payload: json(row.payload_json) as RunEvent['payload'],
    createdAt: instant(row.created_at) as string,
  }
}

export function waitRecord(row: WaitRow): WaitRecord {
  return {
    runId: row.run_id,
    nodeId: row.node_id,
    status: row.status,
    payload: json(row.payload_json),
    openedAt: instant(row.opened_at),
    dueAt: instant(row.due_at),
  }
}

export interface OpenWaitRow extends Pick<WaitRow, 'run_id' | 'node_id' | 'due_at'> {
  readonly template_id: string
  readonly opened_at: number
}

export function openWaitRecord(row: OpenWaitRow): OpenWait {
  return {
    runId: row.run_id,
    nodeId: row.node_id,
    templateId: row.template_id,
    openedAt: new Date(row.opened_at).toISOString(),
    dueAt: instant(row.due_at),
  }
}

export function json(text: string | null): Json {
  return text === null ? null : (JSON.parse(text) as Json)
}

export function instant(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString()
}

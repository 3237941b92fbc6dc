import type { FlowShape, Json, JsonObject } from '@starflow/dsl'
import type {
  Checkpoint,
  ClaimState,
  DefinitionRecord,
  ListedRun,
  RunEvent,
  RunEventType,
  RunRecord,
  RunStatus,
} from '../../run-record.ts'
import type {
  HeldLease,
  OpenWait,
  RunnerRecord,
  UnservedRun,
  WaitRecord,
  WorkerJobRecord,
} from '../../state-adapter.ts'

/** Rows of the schema `starflow` as REST sends them, and the records that they are. */

export interface RunRow {
  readonly id: string
  readonly template_id: string | null
  readonly workspace_id: string
  readonly env: string
  readonly status: RunStatus
  readonly claim_state: ClaimState
  readonly input: Json
  readonly output: Json | null
  readonly error: string | null
  readonly definition_id: string | null
  readonly runner_pool: string | null
  readonly leased_by: string | null
  readonly lease_until: string | null
  readonly last_heartbeat: string | null
  readonly claim_attempts: number
  readonly checkpoint_json: Checkpoint | null
  readonly traceparent: string | null
  readonly created_at: string
  readonly queued_at: string | null
  readonly available_at: string | null
  readonly started_at: string | null
  readonly completed_at: string | null
  readonly cancelled_at: string | null
  readonly duration_ms: number | null
}

/** A row of `list_runs`: a run, or the last one that was looked at, where a look ended before it had found enough. */
export interface ListedRunRow extends Omit<RunRow, 'input' | 'output' | 'checkpoint_json' | 'traceparent'> {
  readonly is_found: boolean
}

export function runRecord(row: RunRow): RunRecord {
  return {
    ...listedRun(row),
    input: row.input,
    output: row.output,
    checkpoint: row.checkpoint_json,
    traceparent: row.traceparent,
  }
}

export function listedRun(row: Omit<RunRow, 'input' | 'output' | 'checkpoint_json' | 'traceparent'>): ListedRun {
  return {
    runId: row.id,
    templateId: row.template_id ?? '',
    workspaceId: row.workspace_id,
    env: row.env,
    status: row.status,
    claimState: row.claim_state,
    error: row.error,
    definitionId: row.definition_id,
    runnerPool: row.runner_pool,
    leasedBy: row.leased_by,
    leaseUntil: instantOrNull(row.lease_until),
    lastHeartbeat: instantOrNull(row.last_heartbeat),
    claimAttempts: row.claim_attempts,
    createdAt: instant(row.created_at),
    queuedAt: instantOrNull(row.queued_at),
    availableAt: instantOrNull(row.available_at),
    startedAt: instantOrNull(row.started_at),
    completedAt: instantOrNull(row.completed_at),
    cancelledAt: instantOrNull(row.cancelled_at),
    durationMs: row.duration_ms,
  }
}

export interface EventRow {
  readonly id: string
  readonly run_id: string
  readonly event_type: RunEventType
  readonly node_id: string | null
  readonly payload_json: JsonObject | null
  readonly created_at: string
}

export function runEvent(row: EventRow): RunEvent {
  return {
    id: row.id,
    runId: row.run_id,
    type: row.event_type,
    nodeId: row.node_id,
    payload: row.payload_json,
    createdAt: instant(row.created_at),
  }
}

export interface WorkerJobRow {
  readonly id: string
  readonly status: WorkerJobRecord['status']
  readonly result: Json
  readonly error: string | null
  readonly is_permanent: boolean
}

export function workerJobRecord(row: WorkerJobRow): WorkerJobRecord {
  const { id, status, result, error, is_permanent } = row
  return { jobId: id, status, result, error, isPermanent: is_permanent }
}

export interface WaitRow {
  readonly run_id: string
  readonly node_id: string
  readonly status: WaitRecord['status']
  readonly payload_json: Json | null
  readonly opened_at: string | null
  readonly due_at: string | null
}

export function waitRecord(row: WaitRow): WaitRecord {
  return {
    runId: row.run_id,
    nodeId: row.node_id,
    status: row.status,
    payload: row.payload_json,
    openedAt: instantOrNull(row.opened_at),
    dueAt: instantOrNull(row.due_at),
  }
}

export interface OpenWaitRow extends Pick<WaitRow, 'run_id' | 'node_id' | 'due_at'> {
  readonly template_id: string
  readonly opened_at: string
}

export function openWait(row: OpenWaitRow): OpenWait {
  return {
    runId: row.run_id,
    nodeId: row.node_id,
    templateId: row.template_id,
    openedAt: instant(row.opened_at),
    dueAt: instantOrNull(row.due_at),
  }
}

export interface DefinitionRow {
  readonly id: string
  readonly flow_slug: string
  readonly shape_hash: string
  readonly shape: FlowShape
}

export function definitionRecord(row: DefinitionRow): DefinitionRecord {
  return { definitionId: row.id, flowSlug: row.flow_slug, shapeHash: row.shape_hash, shape: row.shape }
}

export interface RunnerRow {
  readonly runner_id: string
  readonly runner_pool: string | null
  readonly capacity: number
  readonly runs: number
  readonly last_heartbeat: string
  readonly is_live: boolean
  readonly is_accepting: boolean
  readonly workspace_id: string | null
}

export function runnerRecord(row: RunnerRow): RunnerRecord {
  return {
    runnerId: row.runner_id,
    runnerPool: row.runner_pool,
    capacity: row.capacity,
    runs: row.runs,
    lastHeartbeat: instant(row.last_heartbeat),
    isLive: row.is_live,
    isAccepting: row.is_accepting,
    workspaceId: row.workspace_id,
  }
}

/** Of a run that is held. */
export function heldLease(row: ListedRunRow): HeldLease {
  return {
    runId: row.id,
    templateId: row.template_id ?? '',
    workspaceId: row.workspace_id,
    runnerId: row.leased_by as string,
    claimState: row.claim_state,
    claimAttempts: row.claim_attempts,
    leaseUntil: instant(row.lease_until as string),
    lastHeartbeat: instantOrNull(row.last_heartbeat),
  }
}

export interface UnservedRow {
  readonly run_id: string
  readonly template_id: string
  readonly queued_at: string
  readonly runner_pool: string | null
  readonly reason: UnservedRun['reason']
  readonly detail: string | null
}

export function unservedRun(row: UnservedRow): UnservedRun {
  return {
    runId: row.run_id,
    templateId: row.template_id,
    queuedAt: instant(row.queued_at),
    runnerPool: row.runner_pool,
    reason: row.reason,
    detail: row.detail,
  }
}

/** To the millisecond, in UTC: what every adapter gives, whatever the time zone of the database. */
function instant(text: string): string {
  return new Date(text).toISOString()
}

function instantOrNull(text: string | null): string | null {
  return text === null ? null : instant(text)
}

import type { FlowShape, Json, JsonObject } from '@starflow/dsl'

/** What a run is for whoever watches it; see {@link RunStatus}. */
export const RUN_STATUSES = ['queued', 'running', 'paused', 'success', 'error', 'cancelled'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** The statuses of a run for which nothing is left to do, unless somebody retries it. */
export const ENDED_STATUSES: readonly RunStatus[] = ['success', 'error', 'cancelled']

/**
 * What a run is for runners. `queued`: may be claimed. `claimed`: a runner has taken it. `running`: it executes it.
 * `paused`: it waits, and nobody holds it; a resume queues it again while its status stays `paused`. `complete` (success,
 * cancelled), `failed` (error) and `abandoned` (its runners were lost too often) are ends.
 */
export type ClaimState = (typeof CLAIM_STATES)[number]
export const CLAIM_STATES = ['queued', 'claimed', 'running', 'paused', 'complete', 'failed', 'abandoned'] as const

/** A runner's right to a run. `claimAttempts` grows with every claim: it is the fencing token of all that the runner writes. */
export interface RunClaim {
  readonly runId: string
  readonly runnerId: string
  readonly claimAttempts: number
}

/** A definition as it is kept: one per flow slug and shape. */
export interface DefinitionRecord {
  readonly definitionId: string
  readonly flowSlug: string
  /** SHA-256 of the structure, in hex: what runners compare. See definition.ts. */
  readonly shapeHash: string
  readonly shape: FlowShape
}

/** A row of `workflow_runs`. Instants are ISO 8601 strings of the database's clock. */
export interface RunRecord {
  readonly runId: string
  /** The flow slug. */
  readonly templateId: string
  readonly workspaceId: string
  readonly env: string
  readonly status: RunStatus
  readonly claimState: ClaimState
  readonly input: Json
  readonly output: Json | null
  readonly error: string | null
  readonly definitionId: string | null
  readonly runnerPool: string | null
  readonly leasedBy: string | null
  readonly leaseUntil: string | null
  readonly lastHeartbeat: string | null
  readonly claimAttempts: number
  readonly checkpoint: Checkpoint | null
  /** The span that started it (W3C Trace Context); null without tracing. */
  readonly traceparent: string | null
  readonly createdAt: string
  readonly queuedAt: string | null
  readonly availableAt: string | null
  readonly startedAt: string | null
  readonly completedAt: string | null
  readonly cancelledAt: string | null
  readonly durationMs: number | null
}

/** A run in a list: without what may be long. */
export type ListedRun = Omit<RunRecord, 'input' | 'output' | 'checkpoint' | 'traceparent'>

/** What is kept of a run while it is paused: enough to tell what it waits for, and the author's variables. */
export interface Checkpoint {
  readonly variables: JsonObject
}

/** The waits that a paused run stands in: `__celestialWait` among the variables of its checkpoint. */
export interface WaitPending {
  readonly nodes: readonly string[]
}

export const RUN_EVENT_TYPES = [
  'node_start',
  'node_complete',
  'node_error',
  'node_retry',
  'node_skip',
  'run_started',
  'run_paused',
  'run_resumed',
  'run_completed',
  'run_failed',
  'run_cancelled',
  'run_retried',
  'run_released',
  'phase',
  'variable',
  'runner_lost',
] as const

export type RunEventType = (typeof RUN_EVENT_TYPES)[number]

/** A row of `workflow_run_events`. What a run has come to is read from these, in the order of their ids. */
export interface RunEvent {
  /** An exact decimal string; grows within a run. */
  readonly id: string
  readonly runId: string
  readonly type: RunEventType
  /** The step slug, or `slug[3]` for an element of a map. See node-id.ts. */
  readonly nodeId: string | null
  readonly payload: JsonObject | null
  readonly createdAt: string
}

/** Why a node or run failed, as it is kept. */
export interface RunFailure {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly code?: string | undefined
}

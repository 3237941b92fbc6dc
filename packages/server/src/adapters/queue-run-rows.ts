import type { Json, StepType } from '@starflow/dsl'
import type { RunStatus } from '@starflow/engine'
import type {
  AttemptSpan,
  AttemptView,
  RunSummary,
  StepState,
  StepStatusView,
  StepView,
  TaskState,
  TaskView,
} from '../runs/run-placement.ts'

/** Rows of the functions about runs in queue placement, and what the API shows of them. */

/** Statuses of pgflow.runs and what they are called over both placements. No run on step queues is ever queued or paused. */
const STATUSES = {
  started: 'running',
  completed: 'success',
  failed: 'error',
  cancelled: 'cancelled',
} as const satisfies Readonly<Record<string, RunStatus>>

/** Those that a run on step queues can have. */
export function queueStatuses(statuses: readonly RunStatus[]): string[] {
  return Object.entries(STATUSES).flatMap(([status, name]) => (statuses.includes(name) ? [status] : []))
}

export interface QueueRunRow {
  readonly run_id: string
  readonly flow_slug: string
  readonly workspace_id: string | null
  readonly env: string | null
  readonly status: keyof typeof STATUSES
  readonly started_at: Date
  readonly ended_at: Date | null
  readonly error: string | null
}

export function summaryOf(row: QueueRunRow): RunSummary {
  return {
    runId: row.run_id,
    flow: row.flow_slug,
    placement: 'queue',
    workspace: row.workspace_id,
    env: row.env,
    status: STATUSES[row.status],
    ...{ pool: null, claimState: null, leasedBy: null },
    createdAt: row.started_at.toISOString(),
    startedAt: row.started_at.toISOString(),
    endedAt: instant(row.ended_at),
    error: row.error,
  }
}

export interface StepRow {
  readonly step_slug: string
  readonly step_type: StepType
  readonly depends_on: readonly string[]
  readonly queue_name: string | null
  readonly status: StepState
  readonly is_waiting: boolean
  readonly total_tasks: number | null
  readonly queued_tasks: number
  readonly started_tasks: number
  readonly completed_tasks: number
  readonly failed_tasks: number
  readonly attempts: number
  readonly max_attempts: number | null
  readonly timeout_seconds: number | null
  readonly ready_at: Date | null
  readonly due_at: Date | null
  readonly started_at: Date | null
  readonly ended_at: Date | null
  readonly skip_reason: string | null
  readonly error_name: string | null
  readonly error_message: string | null
  readonly error_stack: string | null
  readonly output: Json
  readonly output_bytes: number | null
  readonly spans: readonly AttemptSpan[] | null
}

export function stepView(row: StepRow): StepView {
  return {
    step: row.step_slug,
    type: row.step_type,
    dependsOn: row.depends_on,
    queue: row.queue_name,
    status: row.status === 'started' && row.is_waiting ? 'waiting' : row.status,
    tasks:
      row.step_type === 'map' && row.total_tasks !== null
        ? {
            total: row.total_tasks,
            queued: row.queued_tasks,
            started: row.started_tasks,
            completed: row.completed_tasks,
            failed: row.failed_tasks,
          }
        : null,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    timeoutSeconds: row.timeout_seconds,
    readyAt: instant(row.ready_at),
    dueAt: instant(row.due_at),
    startedAt: instant(row.started_at),
    endedAt: instant(row.ended_at),
    skipReason: row.skip_reason,
    error: row.error_message,
    errorName: row.error_name,
    errorStack: row.error_stack,
    output: row.output,
    outputBytes: row.output_bytes,
    spans: row.spans ?? [],
  }
}

export interface StepStatusRow {
  readonly step_slug: string
  readonly step_type: StepType
  readonly status: StepState
  readonly initial_tasks: number | null
  readonly remaining_tasks: number | null
}

export function stepStatusView(row: StepStatusRow): StepStatusView {
  const { step_type: type, status, initial_tasks: total, remaining_tasks: left } = row
  return {
    step: row.step_slug,
    status: status === 'started' && type === 'wait' ? 'waiting' : status,
    tasks: type === 'map' && total !== null ? { total, left: left ?? total } : null,
  }
}

export interface TaskRow {
  readonly task_index: number
  readonly status: TaskState
  readonly queued_at: Date
  readonly started_at: Date | null
  readonly ended_at: Date | null
  readonly worker_id: string | null
  readonly error_message: string | null
  readonly output_bytes: number | null
  readonly attempts: readonly AttemptView[]
}

export function taskView(row: TaskRow): TaskView {
  return {
    task: row.task_index,
    status: row.status,
    queuedAt: instant(row.queued_at),
    startedAt: instant(row.started_at),
    endedAt: instant(row.ended_at),
    worker: row.worker_id,
    attempts: row.attempts,
    error: row.error_message,
    outputBytes: row.output_bytes,
  }
}

function instant(value: Date | null): string | null {
  return value?.toISOString() ?? null
}

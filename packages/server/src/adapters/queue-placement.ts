import type { Json, JsonObject } from '@starflow/dsl'
import type { RunStatus } from '@starflow/engine'
import type { Sql } from 'postgres'
import type {
  EventFollower,
  EventPage,
  ListedRuns,
  ListQuery,
  OpenWait,
  ResumeAnswer,
  ResumedWait,
  RunDetail,
  RunEventView,
  RunPlacement,
  RunSummary,
  StartRequest,
  StepState,
  StepView,
} from '../runs/run-placement.ts'
import { type Scope, workspaceOf } from '../workspace.ts'
import { QueueEventFollower } from './queue-event-follower.ts'
import { type QueueEventRow, queueEventId, queueEventInstant } from './queue-event-id.ts'

/** Statuses of pgflow.runs and what they are called over both placements. */
const STATUSES = {
  started: 'running',
  completed: 'success',
  failed: 'error',
  cancelled: 'cancelled',
} as const satisfies Readonly<Record<string, RunStatus>>

interface QueueRunRow {
  readonly run_id: string
  readonly flow_slug: string
  readonly workspace_id: string | null
  readonly env: string | null
  readonly status: keyof typeof STATUSES
  readonly started_at: Date
  readonly ended_at: Date | null
  readonly error: string | null
}

interface StepRow {
  readonly step: string
  readonly step_type: string
  readonly status: StepState
  readonly has_waiting_task: boolean
  readonly total: number | null
  readonly remaining: number | null
  readonly attempts: number
  readonly started_at: Date | null
  readonly ended_at: Date | null
  readonly skip_reason: string | null
  readonly error: string | null
  readonly output: Json
}

/** Runs on step queues: the functions of the SQL core, within a scope. Whose a run is stands in starflow.queue_runs. */
export class QueuePlacement implements RunPlacement {
  readonly placement = 'queue'
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async whyNot(flowSlug: string) {
    const rows = await this.#sql`select from pgflow.flows where flow_slug = ${flowSlug}`
    if (rows.length > 0) return undefined
    return {
      detail: 'It is not compiled in the database.',
      hint: 'Its workers compile it when they start: deploy them, or start the run on a runner.',
    }
  }

  async start(start: StartRequest): Promise<{ readonly runId: string; readonly created: boolean }> {
    const [row] = await this.#sql<[{ run_id: string; created: boolean }]>`
      select * from starflow.start_queue_run(${start.workspaceId}, ${start.env}, ${start.flowSlug},
        ${JSON.stringify(start.input)}::text::jsonb, ${start.idempotencyKey ?? null}, ${start.delayMs})`
    return { runId: row.run_id, created: row.created }
  }

  async read(scope: Scope, runId: string): Promise<RunDetail | undefined> {
    const summary = await this.#find(scope, runId)
    if (summary === undefined) return undefined
    const [run] = await this.#sql<[{ input: Json; output: Json }]>`
      select input, output from pgflow.runs where run_id = ${runId}`
    return { ...summary, ...run, steps: await this.#steps(runId), leasedBy: null, leaseUntil: null }
  }

  async list(scope: Scope, query: ListQuery): Promise<ListedRuns> {
    const status = query.status === undefined ? null : queueStatusOf(query.status)
    // No run on step queues is ever queued or paused.
    if (status === undefined) return { runs: [], hasMore: false, cursorBehind: async () => '' }
    const rows = await this.#sql<QueueRunRow[]>`
      select * from starflow.list_queue_runs(${workspaceOf(scope) ?? null}, ${query.env ?? null}, ${query.flowSlug ?? null},
        ${status}, ${query.before ?? null}, ${query.limit + 1})`
    const page = rows.slice(0, query.limit)
    return {
      runs: page.map(summaryOf),
      hasMore: rows.length > page.length,
      cursorBehind: async (count) => page[count - 1]!.run_id,
    }
  }

  async events(scope: Scope, runId: string, { after, limit }: EventPage): Promise<readonly RunEventView[] | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    const events = await this.#events(runId, after === undefined ? undefined : queueEventInstant(after))
    const start = events.findIndex(({ id }) => id === after) + 1
    return events.slice(start, start + limit)
  }

  async follow(scope: Scope, runId: string, after: string | undefined): Promise<EventFollower | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    return new QueueEventFollower((sinceUs) => this.#events(runId, sinceUs), after)
  }

  async cancel(scope: Scope, runId: string, reason: string): Promise<boolean | undefined> {
    const found = await this.#find(scope, runId)
    if (found === undefined) return undefined
    if (found.status !== 'running') return false
    const [run] = await this.#sql<{ status: string }[]>`select status from pgflow.cancel_run(${runId}, ${reason})`
    return run?.status === 'cancelled'
  }

  async retry(scope: Scope, runId: string): Promise<boolean | undefined> {
    const found = await this.#find(scope, runId)
    if (found === undefined) return undefined
    if (found.status !== 'error' && found.status !== 'cancelled') return false
    const [run] = await this.#sql<{ status: string }[]>`select status from pgflow.retry_run(${runId})`
    return run !== undefined
  }

  async openWaits(scope: Scope, limit: number): Promise<readonly OpenWait[]> {
    const rows = await this.#sql<{ run_id: string; step_slug: string; opened_at: Date; due_at: Date | null }[]>`
      select w.run_id, w.step_slug, w.opened_at, w.due_at from pgflow.open_waits w
      left join starflow.queue_runs q on q.run_id = w.run_id
      where ${workspaceOf(scope) ?? null}::text is null or q.workspace_id = ${workspaceOf(scope) ?? null}
      order by w.opened_at, w.run_id, w.step_slug limit ${limit}`
    return rows.map((row) => ({
      ...{ runId: row.run_id, placement: 'queue', step: row.step_slug },
      openedAt: row.opened_at.toISOString(),
      dueAt: row.due_at?.toISOString() ?? null,
    }))
  }

  /** Whoever may steer the run needs no token; the SQL core wants one, so it is issued and spent in one statement. */
  async resumeWait(scope: Scope, runId: string, stepSlug: string, payload: Json): Promise<ResumeAnswer | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    const [row] = await this.#sql<[{ outcome: ResumeAnswer['outcome'] }]>`
      select (pgflow.resume_wait(pgflow.issue_wait_token(${runId}, ${stepSlug}), ${JSON.stringify(payload)}::text::jsonb)).outcome`
    return { outcome: row.outcome }
  }

  async resumeWithToken(token: string, payload: Json): Promise<ResumedWait> {
    const [row] = await this.#sql<[{ run_id: string; step_slug: string; outcome: ResumeAnswer['outcome'] }]>`
      select * from pgflow.resume_wait(${token}, ${JSON.stringify(payload)}::text::jsonb)`
    return { runId: row.run_id, step: row.step_slug, outcome: row.outcome }
  }

  async #find(scope: Scope, runId: string): Promise<RunSummary | undefined> {
    const [row] = await this.#sql<QueueRunRow[]>`
      select r.run_id, r.flow_slug, q.workspace_id, q.env, r.status, r.started_at,
             coalesce(r.completed_at, r.failed_at, r.cancelled_at) as ended_at,
             (select s.error_message from pgflow.step_states s where s.run_id = r.run_id and s.status = 'failed'
              order by s.failed_at limit 1) as error
      from pgflow.runs r left join starflow.queue_runs q on q.run_id = r.run_id
      where r.run_id = ${runId}`
    if (row === undefined) return undefined
    return scope === 'every' || scope.workspaceId === row.workspace_id ? summaryOf(row) : undefined
  }

  async #events(runId: string, sinceUs: bigint | undefined): Promise<RunEventView[]> {
    const rows = await this.#sql<QueueEventRow[]>`
      select *, (extract(epoch from happened_at) * 1000000)::bigint::text as at_us
      from starflow.queue_run_events(${runId},
        timestamptz 'epoch' + ${sinceUs === undefined ? null : String(sinceUs)}::bigint * interval '1 microsecond')`
    return rows.map((row) => ({
      id: queueEventId(row),
      type: row.event_type,
      node: row.node_id,
      at: row.happened_at.toISOString(),
      // The function makes objects, or nothing.
      payload: row.payload as JsonObject | null,
    }))
  }

  async #steps(runId: string): Promise<StepView[]> {
    const rows = await this.#sql<StepRow[]>`
      select s.step_slug as step, st.step_type, s.status, s.initial_tasks as total, s.remaining_tasks as remaining,
             coalesce(t.attempts, 0) as attempts, coalesce(t.is_waiting, false) as has_waiting_task, s.started_at,
             coalesce(s.completed_at, s.failed_at, s.skipped_at) as ended_at, s.skip_reason,
             coalesce(s.error_message, t.error) as error, s.output
      from pgflow.step_states s
      join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
      left join lateral (
        select max(attempts_count) as attempts, bool_or(status = 'waiting') as is_waiting, max(error_message) as error
        from pgflow.step_tasks t where t.run_id = s.run_id and t.step_slug = s.step_slug) t on true
      where s.run_id = ${runId} order by st.step_index`
    return rows.map((row) => ({
      step: row.step,
      status: row.status === 'started' && row.has_waiting_task ? 'waiting' : row.status,
      tasks:
        row.step_type === 'map' && row.total !== null
          ? { total: row.total, completed: row.total - (row.remaining ?? row.total) }
          : null,
      attempts: row.attempts,
      startedAt: row.started_at?.toISOString() ?? null,
      endedAt: row.ended_at?.toISOString() ?? null,
      skipReason: row.skip_reason,
      error: row.error,
      output: row.output,
    }))
  }
}

/** Undefined where no run on step queues has it; null is not used here. */
function queueStatusOf(status: RunStatus): string | undefined {
  return Object.entries(STATUSES).find(([, name]) => name === status)?.[0]
}

function summaryOf(row: QueueRunRow): RunSummary {
  return {
    runId: row.run_id,
    flow: row.flow_slug,
    placement: 'queue',
    workspace: row.workspace_id,
    env: row.env,
    status: STATUSES[row.status],
    pool: null,
    createdAt: row.started_at.toISOString(),
    startedAt: row.started_at.toISOString(),
    endedAt: row.ended_at?.toISOString() ?? null,
    error: row.error,
  }
}

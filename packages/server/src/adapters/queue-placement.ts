import type { Sql } from '@starflow/core'
import type { Json, JsonObject } from '@starflow/dsl'
import { parseRunSearch } from '@starflow/engine'
import { MAX_INLINE_BYTES, MAX_LOOKED_AT_RUNS, SHOWN_TASKS } from '../numbers.ts'
import type {
  EventFollower,
  EventPage,
  IssuedWaitToken,
  ListedRuns,
  ListQuery,
  OpenWait,
  ReadValue,
  ResumeAnswer,
  ResumedWait,
  RunDetail,
  RunEventView,
  RunPlacement,
  RunStatusView,
  RunSummary,
  StartRequest,
  TaskPage,
  TaskView,
} from '../runs/run-placement.ts'
import { unknownStep } from '../runs/unknown-step.ts'
import { type Scope, workspaceOf } from '../workspace.ts'
import { QueueEventFollower } from './queue-event-follower.ts'
import { type QueueEventParts, type QueueEventRow, queueEventId, queueEventParts } from './queue-event-id.ts'
import { readQueueRunCursor, writeQueueRunCursor } from './queue-run-cursor.ts'
import {
  type QueueRunRow,
  queueStatuses,
  type StepRow,
  type StepStatusRow,
  stepStatusView,
  stepView,
  summaryOf,
  type TaskRow,
  taskView,
} from './queue-run-rows.ts'

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
        ${JSON.stringify(start.input)}::text::jsonb, ${start.idempotencyKey ?? null}, ${start.delayMs}, ${start.traceparent ?? null})`
    return { runId: row.run_id, created: row.created }
  }

  async read(scope: Scope, runId: string): Promise<RunDetail | undefined> {
    const summary = await this.#find(scope, runId)
    if (summary === undefined) return undefined
    const [[run], steps] = await Promise.all([
      this.#sql<[ValuesRow]>`
        select case when i.bytes <= ${MAX_INLINE_BYTES} then r.input end as input, i.bytes as "inputBytes",
               case when o.bytes <= ${MAX_INLINE_BYTES} then r.output end as output, o.bytes as "outputBytes",
               r.cancel_reason as "cancelReason"
        from pgflow.runs r, starflow._json_size(r.input) i(bytes), starflow._json_size(r.output) o(bytes)
        where r.run_id = ${runId}`,
      this.#sql<StepRow[]>`
        select * from starflow.queue_run_steps(${runId}, ${MAX_INLINE_BYTES}, ${SHOWN_TASKS})`,
    ])
    return { ...summary, ...run, steps: steps.map(stepView), queuedAt: null, leaseUntil: null }
  }

  async readStatus(scope: Scope, runId: string): Promise<RunStatusView | undefined> {
    const summary = await this.#find(scope, runId)
    if (summary === undefined) return undefined
    const steps = await this.#sql<StepStatusRow[]>`
      select s.step_slug, st.step_type, s.status, s.initial_tasks, s.remaining_tasks
      from pgflow.step_states s join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
      where s.run_id = ${runId} order by st.step_index`
    return { ...summary, steps: steps.map(stepStatusView) }
  }

  async has(scope: Scope, runId: string): Promise<true | undefined> {
    return (await this.#find(scope, runId)) && true
  }

  async readValue(scope: Scope, runId: string, which: 'input' | 'output'): Promise<ReadValue | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    const [row] = await this.#sql<[{ value: Json }]>`
      select case ${which} when 'input' then input else output end as value from pgflow.runs where run_id = ${runId}`
    return row
  }

  async readStepOutput(
    scope: Scope,
    runId: string,
    step: string,
    task: number | undefined,
  ): Promise<ReadValue | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    const [row] =
      task === undefined
        ? await this.#sql<ReadValue[]>`
            select output as value from pgflow.step_states where run_id = ${runId} and step_slug = ${step}`
        : await this.#sql<ReadValue[]>`
            select output as value from pgflow.step_tasks
            where run_id = ${runId} and step_slug = ${step} and task_index = ${task}`
    if (row === undefined) throw unknownStep(runId, step)
    return row
  }

  async tasks(scope: Scope, runId: string, step: string, page: TaskPage): Promise<readonly TaskView[] | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    const rows = await this.#sql<TaskRow[]>`
      select * from starflow.queue_run_tasks(${runId}, ${step}, ${page.after ?? null}, ${page.status ?? null}, ${page.limit})`
    if (rows.length === 0) await this.#checkStep(runId, step)
    return rows.map(taskView)
  }

  async list(scope: Scope, query: ListQuery): Promise<ListedRuns> {
    const statuses = query.statuses && queueStatuses(query.statuses)
    if (statuses?.length === 0) return NO_RUNS
    const before = query.before === undefined ? undefined : readQueueRunCursor(query.before)
    const search = query.search === undefined ? undefined : parseRunSearch(query.search)
    const rows = await this.#sql<ListedRow[]>`
      select *, (extract(epoch from started_at) * 1000000)::bigint::text as started_at_us
      from starflow.list_queue_runs(
        workspace_id => ${workspaceOf(scope) ?? null}, env => ${query.env ?? null}, flow_slug => ${query.flowSlug ?? null},
        statuses => ${statuses ?? null}::text[], search => ${search?.kind === 'text' ? search.text : null},
        first_id => ${search?.kind === 'id' ? search.firstId : null}, last_id => ${search?.kind === 'id' ? search.lastId : null},
        started_from => ${query.createdFrom ?? null}, started_before => ${query.createdBefore ?? null},
        before_started_at => timestamptz 'epoch' + ${before?.startedAtUs ?? null}::bigint * interval '1 microsecond',
        before_id => ${before?.runId ?? null}, max_rows => ${query.limit + 1}, look_at => ${MAX_LOOKED_AT_RUNS})`
    const page = rows.filter((row) => row.is_found).slice(0, query.limit)
    const end = rows.find((row) => !row.is_found)
    return {
      runs: page.map(summaryOf),
      hasMore: rows.length > page.length,
      lookedUntil: end?.started_at.toISOString() ?? null,
      cursorBehind: async (count) => {
        const last = count === page.length && end !== undefined ? end : page[count - 1]!
        return writeQueueRunCursor({ startedAtUs: last.started_at_us, runId: last.run_id })
      },
    }
  }

  async events(scope: Scope, runId: string, { after, limit }: EventPage): Promise<readonly RunEventView[] | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    return await this.#events(runId, { after: after === undefined ? undefined : queueEventParts(after), limit })
  }

  async follow(scope: Scope, runId: string, after: string | undefined): Promise<EventFollower | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    return new QueueEventFollower((sinceUs) => this.#events(runId, { sinceUs }), after)
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
    const rows = await this.#sql<OpenWaitRow[]>`
      select w.flow_slug, w.run_id, w.step_slug, w.opened_at, w.due_at from pgflow.open_waits w
      left join starflow.queue_runs q on q.run_id = w.run_id
      where ${workspaceOf(scope) ?? null}::text is null or q.workspace_id = ${workspaceOf(scope) ?? null}
      order by w.opened_at, w.run_id, w.step_slug limit ${limit}`
    return rows.map((row) => ({
      ...{ runId: row.run_id, flow: row.flow_slug, placement: 'queue', step: row.step_slug },
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

  async issueWaitToken(
    scope: Scope,
    runId: string,
    stepSlug: string,
    lifeMs: number | undefined,
  ): Promise<IssuedWaitToken | undefined> {
    if ((await this.#find(scope, runId)) === undefined) return undefined
    const [row] = await this.#sql<[{ token: string }]>`
      select pgflow.issue_wait_token(${runId}, ${stepSlug}, ${lifeMs ?? null}::bigint * interval '1 millisecond') as token`
    // How long it is good is the decision of SQL, and stands in it for everybody to read.
    const [, , body] = row.token.split('.')
    const { exp } = JSON.parse(Buffer.from(body!, 'base64url').toString()) as { exp: number }
    return { token: row.token, expiresAt: new Date(exp * 1000).toISOString() }
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

  async #events(
    runId: string,
    {
      after,
      sinceUs = after?.atUs,
      limit,
    }: { readonly after?: QueueEventParts | undefined; readonly sinceUs?: bigint | undefined; readonly limit?: number },
  ): Promise<RunEventView[]> {
    const rows = await this.#sql<QueueEventRow[]>`
      select *, (extract(epoch from happened_at) * 1000000)::bigint::text as at_us
      from starflow.queue_run_events(${runId},
        timestamptz 'epoch' + ${sinceUs === undefined ? null : String(sinceUs)}::bigint * interval '1 microsecond',
        ${after?.type ?? null}, ${after?.node ?? null}, ${after?.attempt ?? null}::integer, ${limit ?? null}::integer)`
    return rows.map((row) => ({
      id: queueEventId(row),
      type: row.event_type,
      node: row.node_id,
      at: row.happened_at.toISOString(),
      // The function makes objects, or nothing.
      payload: row.payload as JsonObject | null,
    }))
  }

  /** @throws StarflowError SF107 */
  async #checkStep(runId: string, step: string): Promise<void> {
    const rows = await this.#sql`select from pgflow.step_states where run_id = ${runId} and step_slug = ${step}`
    if (rows.length === 0) throw unknownStep(runId, step)
  }
}

type ValuesRow = Pick<RunDetail, 'input' | 'inputBytes' | 'output' | 'outputBytes' | 'cancelReason'>

interface ListedRow extends QueueRunRow {
  readonly started_at_us: string
  /** False: where the look ended, no run of the list. */
  readonly is_found: boolean
}

interface OpenWaitRow {
  readonly flow_slug: string
  readonly run_id: string
  readonly step_slug: string
  readonly opened_at: Date
  readonly due_at: Date | null
}

const NO_RUNS: ListedRuns = { runs: [], hasMore: false, lookedUntil: null, cursorBehind: async () => '' }

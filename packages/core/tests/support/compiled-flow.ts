import { randomUUID } from 'node:crypto'
import {
  type AnyFlow,
  extractFlowShape,
  type FlowShape,
  isStepQueuedFlow,
  type Json,
  type QueueMode,
  type Route,
  type StepQueuedFlow,
} from '@starflow/dsl'
import {
  type ClaimedTask,
  type Sql,
  StarflowSql,
  type TaskIdentity,
  type TaskReport,
  type Work,
} from '../../src/index.ts'

/** A flow that is compiled, with hands to claim and settle its tasks as a worker would. */
export class CompiledFlow {
  readonly core: StarflowSql
  readonly slug: string
  readonly workerId: string
  readonly #sql: Sql
  readonly #queues: ReadonlyMap<string, string>
  readonly #mode: QueueMode

  private constructor(sql: Sql, slug: string, mode: QueueMode, queues: Map<string, string>, workerId: string) {
    this.#sql = sql
    this.core = new StarflowSql(sql)
    this.slug = slug
    this.workerId = workerId
    this.#mode = mode
    this.#queues = queues
  }

  static async compile(sql: Sql, definition: AnyFlow | StepQueuedFlow<AnyFlow>): Promise<CompiledFlow> {
    const flow = isStepQueuedFlow(definition) ? definition.flow : definition
    return isStepQueuedFlow(definition)
      ? await CompiledFlow.#compile(sql, flow.slug, extractFlowShape(flow), 'step', definition.routes)
      : await CompiledFlow.#compile(sql, flow.slug, extractFlowShape(flow), 'flow', null)
  }

  /** A flow that is only its shape: see `shape` of ./shape.ts. */
  static async compileShape(sql: Sql, slug: string, shape: FlowShape, mode: QueueMode = 'step'): Promise<CompiledFlow> {
    return await CompiledFlow.#compile(sql, slug, shape, mode, null)
  }

  static async #compile(
    sql: Sql,
    flowSlug: string,
    shape: FlowShape,
    queueMode: QueueMode,
    routeMap: readonly Route[] | null,
  ): Promise<CompiledFlow> {
    const result = await new StarflowSql(sql).ensureFlowCompiled({ flowSlug, shape, queueMode, routeMap })
    const queues = new Map(result.routes.map((route) => [route.stepSlug, route.queueName]))
    const compiled = new CompiledFlow(sql, flowSlug, queueMode, queues, randomUUID())
    await compiled.register(compiled.workerId)
    return compiled
  }

  async register(workerId: string, functionName = `fn-${workerId}`): Promise<string> {
    await this.core.registerWorker({ workerId, queueName: this.slug.toLowerCase(), functionName })
    return workerId
  }

  queue(stepSlug: string): string {
    const queue = this.#queues.get(stepSlug)
    if (queue === undefined) throw new Error(`no step ${stepSlug}`)
    return queue
  }

  async start(...inputs: Json[]): Promise<string[]> {
    return await this.core.startFlows(this.slug, inputs)
  }

  async work(
    stepSlug: string,
    options: { qty?: number; workerId?: string; reports?: TaskReport[]; onUnsupported?: 'skip' | 'halt' } = {},
  ): Promise<Work> {
    return await this.core.settleAndClaim({
      workerId: options.workerId ?? this.workerId,
      reports: options.reports ?? [],
      queueName: this.queue(stepSlug),
      flowSlug: this.slug,
      stepSlug: this.#mode === 'step' ? stepSlug : null,
      qty: options.qty ?? 100,
      onUnsupported: options.onUnsupported ?? 'skip',
    })
  }

  async claim(stepSlug: string, qty = 100, workerId = this.workerId): Promise<readonly ClaimedTask[]> {
    return (await this.work(stepSlug, { qty, workerId })).claimed
  }

  /** Claims and completes until nothing of the flow is claimable: the handler gets the task, its result is the output. */
  async drain(handler: (task: ClaimedTask) => Json | Error): Promise<void> {
    for (let found = true; found; ) {
      found = false
      for (const stepSlug of this.#queues.keys()) {
        const tasks = await this.claim(stepSlug)
        if (tasks.length === 0) continue
        found = true
        await this.core.settleTasks(
          this.workerId,
          tasks.map((task) => {
            const result = handler(task)
            return result instanceof Error ? failed(task, { errorMessage: result.message }) : completed(task, result)
          }),
        )
      }
    }
  }

  async run(runId: string): Promise<{ status: string; output: Json; remaining_steps: number }> {
    const [row] = await this.#sql<{ status: string; output: Json; remaining_steps: number }[]>`
      select status, output, remaining_steps from pgflow.runs where run_id = ${runId}`
    return row!
  }

  /** Step slug → status, with the skip reason behind it. */
  async steps(runId: string): Promise<Record<string, string>> {
    const rows = await this.#sql<{ step_slug: string; status: string; skip_reason: string | null }[]>`
      select step_slug, status, skip_reason from pgflow.step_states where run_id = ${runId}`
    return Object.fromEntries(
      rows.map((row) => [row.step_slug, row.skip_reason === null ? row.status : `${row.status}: ${row.skip_reason}`]),
    )
  }

  async tasks(
    runId: string,
  ): Promise<
    { step_slug: string; task_index: number; status: string; attempts_count: number; error_message: string | null }[]
  > {
    return await this.#sql`
      select step_slug, task_index, status, attempts_count, error_message from pgflow.step_tasks
      where run_id = ${runId} order by step_slug, task_index`
  }

  async depth(stepSlug: string): Promise<number> {
    const [row] = await this.#sql<[{ depth: string }]>`
      select queue_length as depth from pgmq.metrics(${this.queue(stepSlug)})`
    return Number(row.depth)
  }

  /** For how long each message of a step's queue stays hidden, in whole seconds rounded up, in the order of their ids; then each parked task. */
  async hidden(stepSlug: string): Promise<number[]> {
    const rows = await this.#sql.unsafe<{ seconds: number }[]>(
      `select greatest(0, ceil(extract(epoch from due_at - clock_timestamp())))::float8 as seconds
       from (select vt as due_at, msg_id from pgmq.q_${this.queue(stepSlug)}
             union all select due_at, null from pgflow.parked_tasks where queue_name = '${this.queue(stepSlug)}') x order by msg_id, due_at`,
    )
    return rows.map((row) => row.seconds)
  }

  /** How many messages of a step were archived. */
  async archived(stepSlug: string): Promise<number> {
    const [row] = await this.#sql.unsafe<[{ count: number }]>(
      `select count(*)::integer as count from pgmq.a_${this.queue(stepSlug)}`,
    )
    return row.count
  }

  /** Moves every claim, every due time and every open wait of a run into the past, as if that many seconds had gone by. */
  async age(runId: string, seconds: number): Promise<void> {
    await this.#sql`
      update pgflow.waits set opened_at = opened_at - make_interval(secs => ${seconds}), due_at = due_at - make_interval(secs => ${seconds})
      where run_id = ${runId}`
    await this
      .#sql`update pgflow.runs set start_at = start_at - make_interval(secs => ${seconds}) where run_id = ${runId}`
    await this.#sql`
      update pgflow.parked_tasks set due_at = due_at - make_interval(secs => ${seconds}) where run_id = ${runId}`
    const rows = await this.#sql<{ queue_name: string; ids: string[] }[]>`
      with aged as (
        update pgflow.step_tasks set
          started_at = started_at - make_interval(secs => ${seconds}), queued_at = queued_at - make_interval(secs => ${seconds}),
          due_at = due_at - make_interval(secs => ${seconds})
        where run_id = ${runId}
        returning queue_name, message_id
      )
      select queue_name, array_agg(message_id) as ids from aged where message_id is not null group by queue_name`
    for (const { queue_name, ids } of rows) {
      await this.#sql.unsafe(
        `update pgmq.q_${queue_name} set vt = vt - make_interval(secs => $1) where msg_id = any ($2::bigint[])`,
        [seconds, ids],
      )
    }
  }

  /** Makes every message and every parked task of a step due now. */
  async reveal(stepSlug: string): Promise<void> {
    await this.#sql`
      with due as (update pgflow.parked_tasks set due_at = clock_timestamp() where queue_name = ${this.queue(stepSlug)} returning *)
      update pgflow.step_tasks t set due_at = d.due_at from due d
      where t.run_id = d.run_id and t.step_slug = d.step_slug and t.task_index = d.task_index`
    await this.#sql.unsafe(`update pgmq.q_${this.queue(stepSlug)} set vt = clock_timestamp()`)
  }
}

export function completed(task: ClaimedTask, output: Json): TaskReport {
  return { ...identity(task), status: 'completed', output: JSON.stringify(output) }
}

export function failed(
  task: ClaimedTask,
  failure: Omit<Partial<Extract<TaskReport, { status: 'failed' }>>, keyof TaskIdentity | 'status'> = {},
): TaskReport {
  return { ...identity(task), status: 'failed', errorMessage: 'boom', ...failure }
}

function identity({ runId, stepSlug, taskIndex, attempt }: ClaimedTask) {
  return { runId, stepSlug, taskIndex, attempt }
}

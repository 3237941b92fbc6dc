import { randomUUID } from 'node:crypto'
import { type AnyFlow, extractFlowShape, type HandledStep, type Json, toJsonText } from '@starflow/dsl'
import type { Sql } from 'postgres'
import { StarflowSql, type TaskIdentity, type TaskReport } from '../../../core/src/index.ts'
import { CompiledFlow } from '../../../core/tests/support/compiled-flow.ts'
import { issueToken, resume } from '../../../core/tests/support/wait-tokens.ts'
import { InputCheck } from '../../../edge-worker/src/input-check.ts'
import { completedOutcome, failedOutcome } from '../../../edge-worker/src/task-outcome.ts'
import { type Case, Schedule, UNIT_SECONDS, waitAnswer, waitsOf } from './case.ts'
import { flowOf, type OnAttempt, SLUG } from './case-flow.ts'
import { type Outcome, type StepOutcome, TIMED_OUT, Trace } from './outcome.ts'

/** The run of a case on the SQL core, with the hands of a worker, one task at a time as its schedule says. */
export async function queueRun(sql: Sql, one: Case): Promise<Outcome> {
  return await onQueues(
    sql,
    one,
    () => {},
    async (run) => await run.followSchedule(),
  )
}

/** The same with several workers at once, each with a client of its own. Waits are resumed before they open. */
export async function freeQueueRun(workers: readonly Sql[], one: Case, onAttempt: OnAttempt): Promise<Outcome> {
  return await onQueues(workers[0]!, one, onAttempt, async (run) => await run.letRace(workers))
}

async function onQueues(
  sql: Sql,
  one: Case,
  onAttempt: OnAttempt,
  play: (run: QueueRun) => Promise<void>,
): Promise<Outcome> {
  const flow = flowOf(one, onAttempt)
  const compiled = await CompiledFlow.compileShape(sql, SLUG, extractFlowShape(flow), one.queueMode ?? 'flow')
  try {
    const [runId] = await compiled.start(one.input)
    const run = new QueueRun(sql, one, flow, compiled, runId!)
    await play(run)
    return await run.outcome()
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code !== 'P0001') throw error
    return { status: 'refused', refusal: message, output: null, steps: {}, attempts: {}, trace: [] }
  } finally {
    await sql`select pgflow.delete_flow_and_data(${SLUG})`
  }
}

interface QueuedTask {
  readonly stepSlug: string
  readonly taskIndex: number
  readonly attemptsSoFar: number
  readonly messageId: string
  /** Seconds until its message is seen, to the nearest unit. */
  readonly dueIn: number
}

type StartedTask = TaskIdentity & { readonly input: Json; readonly flowInput: Json | null }

class QueueRun {
  readonly #sql: Sql
  readonly #case: Case
  readonly #flow: AnyFlow
  readonly #compiled: CompiledFlow
  readonly #runId: string
  readonly #trace = new Trace(() => this.#seconds)
  readonly #inputCheck: InputCheck
  /** How far the run was moved into the past. */
  #seconds = 0
  #retries = 0

  constructor(sql: Sql, one: Case, flow: AnyFlow, compiled: CompiledFlow, runId: string) {
    this.#sql = sql
    this.#case = one
    this.#flow = flow
    this.#compiled = compiled
    this.#runId = runId
    this.#inputCheck = new InputCheck(SLUG, flow.input)
  }

  async followSchedule(): Promise<void> {
    const schedule = new Schedule(this.#case)
    for (;;) {
      const { status } = await this.#compiled.run(this.#runId)
      if (status === 'failed' && this.#retries < (this.#case.retries ?? 0)) await this.#retry()
      else if (status !== 'started') return
      else {
        const queued = await this.#queued()
        const due = queued.filter(({ dueIn }) => dueIn <= 0)
        if (due.length > 0) await this.#work(schedule.choose(due))
        else if (queued.length > 0) await this.#pass(Math.min(...queued.map(({ dueIn }) => dueIn)))
        else await this.#answerWait(schedule)
      }
    }
  }

  /** Rounds in which every worker claims a few tasks and settles them, all at the same time, until there are none. */
  async letRace(workers: readonly Sql[]): Promise<void> {
    for (const [slug, wait] of waitsOf(this.#case)) {
      const answer = waitAnswer(wait, 0)
      if (answer !== 'timeout') await resume(this.#sql, await issueToken(this.#sql, this.#runId, slug), answer.payload)
    }
    const racers = await Promise.all(
      workers.map(async (sql) => ({
        core: new StarflowSql(sql),
        workerId: await this.#compiled.register(randomUUID()),
      })),
    )
    for (let queued = await this.#queued(); queued.length > 0; queued = await this.#queued()) {
      const slugs = [...new Set(queued.map(({ stepSlug }) => stepSlug))]
      // A message that was read while somebody held its task stays hidden for a while.
      for (const slug of slugs) await this.#compiled.reveal(slug)
      await Promise.all(
        racers.map((racer, nth) => this.#race(racer, [...slugs.slice(nth), ...slugs.slice(0, nth)], nth + 1)),
      )
    }
  }

  async #race(worker: { core: StarflowSql; workerId: string }, slugs: readonly string[], qty: number): Promise<void> {
    const { core, workerId } = worker
    for (const slug of slugs) {
      const { claimed } = await core.settleAndClaim({
        ...{ workerId, reports: [], queueName: this.#compiled.queue(slug), flowSlug: SLUG, qty },
        ...{ stepSlug: this.#case.queueMode === 'step' ? slug : null, onUnsupported: 'halt' },
      })
      await core.settleTasks(workerId, await Promise.all(claimed.map((task) => this.#attempt(task))))
    }
  }

  async outcome(): Promise<Outcome> {
    const { status, output } = await this.#compiled.run(this.#runId)
    const steps = await this.#sql<(StepOutcome & { slug: string })[]>`
      select step_slug as slug, status, skip_reason as "skipReason", output, error_message as error
      from pgflow.step_states where run_id = ${this.#runId}`
    const tasks = await this.#compiled.tasks(this.#runId)
    return {
      status: status === 'completed' || status === 'failed' ? status : 'stuck',
      output,
      steps: Object.fromEntries(
        steps.map(({ slug, status, skipReason, output, error }) => [
          slug,
          { status, skipReason, output, error: error?.startsWith('Timed out: ') ? TIMED_OUT : error },
        ]),
      ),
      // A wait has no attempts.
      attempts: Object.fromEntries(
        tasks
          .filter((task) => task.attempts_count > 0)
          .map((task) => [`${task.step_slug}[${task.task_index}]`, task.attempts_count]),
      ),
      trace: this.#trace.lines,
    }
  }

  /** In the order of steps and elements. */
  async #queued(): Promise<QueuedTask[]> {
    // A delay of more than an hour is parked, without a message; this schedule takes tasks by their messages.
    await this.#sql`
      with unparked as (delete from pgflow.parked_tasks where run_id = ${this.#runId} returning *),
        sent as (
          select u.*, pgmq.send(u.queue_name, '{}'::jsonb, u.due_at) as message_id from unparked u
        )
      update pgflow.step_tasks t set message_id = s.message_id from sent s
      where (t.run_id, t.step_slug, t.task_index) = (s.run_id, s.step_slug, s.task_index)`
    const tasks = await this.#sql<(Omit<QueuedTask, 'dueIn'> & { queue: string })[]>`
      select t.step_slug as "stepSlug", t.task_index as "taskIndex", t.attempts_count as "attemptsSoFar",
             t.message_id as "messageId", t.queue_name as queue
      from pgflow.step_tasks t join pgflow.steps s using (flow_slug, step_slug)
      where t.run_id = ${this.#runId} and t.status = 'queued' order by s.step_index, t.task_index`
    if (tasks.length === 0) return []
    const queues = [...new Set(tasks.map(({ queue }) => queue))]
    const messages = await this.#sql.unsafe<{ id: string; queue: string; seconds: number }[]>(
      queues
        .map(
          (queue) =>
            `select msg_id as id, '${queue}' as queue, extract(epoch from vt - clock_timestamp())::float8 as seconds from pgmq.q_${queue}`,
        )
        .join(' union all '),
    )
    return tasks.map(({ queue, ...task }) => {
      const message = messages.find((other) => other.queue === queue && other.id === task.messageId)
      if (message === undefined) throw new Error(`Task ${task.stepSlug}[${task.taskIndex}] has lost its message.`)
      return { ...task, dueIn: Math.round(message.seconds / UNIT_SECONDS) * UNIT_SECONDS }
    })
  }

  /** Claims this very task, as a worker that has read its message. */
  async #work({ stepSlug, taskIndex, messageId, attemptsSoFar }: QueuedTask): Promise<void> {
    const { core, workerId } = this.#compiled
    const [task] = await this.#sql<Pick<StartedTask, 'stepSlug' | 'taskIndex' | 'input' | 'flowInput'>[]>`
      select step_slug as "stepSlug", task_index as "taskIndex", input, flow_input as "flowInput"
      from pgflow.start_tasks(${SLUG}, ${[messageId]}::bigint[], ${workerId}, ${this.#compiled.queue(stepSlug)},
        ${this.#case.queueMode === 'step' ? stepSlug : null})`
    if (task?.stepSlug !== stepSlug || task.taskIndex !== taskIndex) {
      throw new Error(`Claimed ${JSON.stringify(task)} instead of ${stepSlug}[${taskIndex}].`)
    }
    const attempt = attemptsSoFar + 1
    // Here as there: an attempt is what a handler hears of.
    if (!this.#case.refusesInput || !isRoot(this.#flow, stepSlug)) this.#trace.attempt(stepSlug, taskIndex, attempt)
    const [result] = await core.settleTasks(workerId, [await this.#attempt({ ...task, runId: this.#runId, attempt })])
    if (!result!.accepted) throw new Error(`The report of ${stepSlug}[${taskIndex}] was refused: ${result!.reason}.`)
  }

  /** Calls the handler, as a worker does. */
  async #attempt(task: StartedTask): Promise<TaskReport> {
    const { runId, stepSlug, taskIndex, attempt, input } = task
    const step = this.#flow.getStepDefinition(stepSlug) as HandledStep
    const takesFlowInput = step.stepType === 'single' && step.dependencies.length === 0
    const work = { runId, stepSlug, taskIndex, attempt }
    const context = {
      stepTask: { step_slug: stepSlug, task_index: taskIndex, attempt },
      flowInput: takesFlowInput ? Promise.resolve(task.flowInput) : this.#compiled.core.flowInput(runId),
    }
    const outcome = await (async () => {
      try {
        if (isRoot(this.#flow, stepSlug))
          await this.#inputCheck.require(runId, () => context.flowInput as Promise<Json>)
        const value = await step.handler(takesFlowInput ? task.flowInput : input, context)
        return completedOutcome(work, toJsonText(value))
      } catch (error) {
        return failedOutcome(work, error)
      }
    })()
    if (outcome.kind !== 'report') throw new Error('An attempt is always reported here.')
    return outcome.report as TaskReport
  }

  async #pass(seconds: number): Promise<void> {
    await this.#compiled.age(this.#runId, seconds)
    this.#seconds += seconds
  }

  async #answerWait(schedule: Schedule): Promise<void> {
    const open = await this.#sql<{ slug: string; seconds: number | null }[]>`
      select w.step_slug as slug, extract(epoch from w.due_at - clock_timestamp())::float8 as seconds
      from pgflow.waits w join pgflow.step_states s using (run_id, step_slug) join pgflow.steps t using (flow_slug, step_slug)
      where w.run_id = ${this.#runId} and w.opened_at is not null order by t.step_index`
    const answers = open.map((wait) => ({ ...wait, answer: waitAnswer(this.#case.steps[wait.slug]!, this.#retries) }))
    const answered = answers.filter(({ answer }) => answer !== 'timeout')
    if (answered.length > 0) {
      const { slug, answer } = schedule.choose(answered)
      if (answer === 'timeout') return
      const outcome = await resume(this.#sql, await issueToken(this.#sql, this.#runId, slug), answer.payload)
      this.#trace.intervention(`${slug} resumed: ${outcome}`)
      return
    }
    const [next] = answers.sort((a, b) => a.seconds! - b.seconds!)
    if (next === undefined)
      throw new Error(`The run is stuck: ${JSON.stringify(await this.#compiled.steps(this.#runId))}`)
    await this.#pass(Math.ceil(next.seconds!))
    await this.#compiled.core.requeueStalledTasks()
    this.#trace.intervention(`${next.slug} timed out`)
  }

  async #retry(): Promise<void> {
    this.#retries++
    await this.#sql`select pgflow.retry_run(${this.#runId})`
    this.#trace.intervention('retried')
  }
}

function isRoot(flow: AnyFlow, stepSlug: string): boolean {
  return flow.getStepDefinition(stepSlug).dependencies.length === 0
}

import { deepStrictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import type { Sql } from 'postgres'
import type { TaskReport } from '../../src/index.ts'
import { CompiledFlow } from './compiled-flow.ts'
import { expectAllWell } from './oracle.ts'
import { type ModelReport, type ModelTask, RunModel, rulesOf, TIMEOUT_SECONDS } from './run-model.ts'
import { type StepSketch, shape } from './shape.ts'

/**
 * A command of a random history. Numbers choose among what there is when its turn comes, modulo how much there is, so that
 * every sequence of commands means something and stays meaningful when one of them is left out.
 */
export type Command =
  | { readonly kind: 'start'; readonly input: number }
  | { readonly kind: 'start again'; readonly run: number; readonly input: number }
  | { readonly kind: 'claim'; readonly queue: number; readonly worker: number; readonly qty: number }
  | { readonly kind: 'settle'; readonly reports: readonly ReportChoice[]; readonly claims?: boolean }
  | { readonly kind: 'release'; readonly claims: readonly number[]; readonly started: boolean }
  | { readonly kind: 'pass'; readonly run: number; readonly seconds: number }
  | { readonly kind: 'resume'; readonly run: number; readonly wait: number; readonly payload: number }
  | { readonly kind: 'recover' }
  | { readonly kind: 'cancel'; readonly run: number }
  | { readonly kind: 'retry'; readonly run: number }

export interface ReportChoice {
  /** Which claim is reported: one that is still held, or (`late`) any that ever was. */
  readonly claim: number
  readonly late: boolean
  readonly outcome: 'complete' | 'fail' | 'fail for good'
  readonly output: number
  readonly delay: number
}

export interface History {
  readonly steps: Readonly<Record<string, StepSketch>>
  readonly mode: 'flow' | 'step'
  readonly commands: readonly Command[]
}

/** A history that took so long that hidden messages may have come back by themselves says nothing. */
export class TooSlow extends Error {}

const INPUTS: readonly Json[] = [{ yes: true, n: 1 }, { yes: false }, 3, null, {}]
const ARRAYS: readonly Json[] = [[], [1], [null, { ok: true }], [0, '', [1]]]
const OUTPUTS: readonly Json[] = [{ ok: true, n: 1 }, 1, null, 0, '', [], [{ ok: true }, null], false]
/** Before its claim's visibility ends; after it, but before the recovery boundary; after that. */
export const PASSES = [10, TIMEOUT_SECONDS + 12, 2 * TIMEOUT_SECONDS] as const
const SLOW_MS = 4_000

interface Run {
  readonly id: string
  readonly model: RunModel
}
interface Claim {
  readonly run: Run
  readonly report: Omit<ModelReport, 'outcome'>
}

/** Always the same one, so that texts of queries stay few: a server keeps a plan for each. */
const SLUG = 'model'

/**
 * Does the commands to the database and to the model, and compares the two after each. The flow is deleted at the end. Answers
 * what the history came to: each status, reason and verdict that occurred in it.
 */
export async function checkHistory(sql: Sql, history: History): Promise<ReadonlySet<string>> {
  const options = { maxAttempts: 3, baseDelay: 0, timeout: TIMEOUT_SECONDS }
  const flow = await CompiledFlow.compileShape(sql, SLUG, shape(history.steps, options), history.mode)
  try {
    const check = new Check(sql, flow, history)
    await check.run()
    await expectAllWell(sql)
    return check.seen
  } finally {
    await sql`select pgflow.delete_flow_and_data(${SLUG})`
  }
}

class Check {
  readonly seen = new Set<string>()
  readonly #sql: Sql
  readonly #flow: CompiledFlow
  readonly #history: History
  readonly #rules: ReturnType<typeof rulesOf>
  readonly #runs: Run[] = []
  readonly #claims: Claim[] = []
  /** By worker, the tasks of which an attempt was found stalled. */
  readonly #stalled = new Map<string, Set<ModelTask>>()
  readonly #workers: string[]
  readonly #takesArray: boolean

  constructor(sql: Sql, flow: CompiledFlow, history: History) {
    this.#sql = sql
    this.#flow = flow
    this.#history = history
    this.#rules = rulesOf(history.steps)
    this.#takesArray = [...this.#rules.values()].some((step) => step.map === true && step.after.length === 0)
    this.#workers = [flow.workerId, randomUUID()]
  }

  async run(): Promise<void> {
    await this.#flow.register(this.#workers[1]!)
    const start = Date.now()
    for (const [position, command] of this.#history.commands.entries()) {
      let answers: readonly [unknown, unknown]
      try {
        answers = await this.#do(command)
        deepStrictEqual(answers[0], answers[1])
        await this.#compare()
      } catch (error) {
        if (Date.now() - start > SLOW_MS) throw new TooSlow()
        if (error instanceof Error) error.message = `command ${position}, ${command.kind}: ${error.message}`
        throw error
      }
    }
    if (Date.now() - start > SLOW_MS) throw new TooSlow()
  }

  /** What the database answered, and what it should have. */
  async #do(command: Command): Promise<readonly [unknown, unknown]> {
    switch (command.kind) {
      case 'start': {
        const input = this.#input(command.input)
        const [id] = await this.#flow.start(input)
        this.#runs.push({ id: id!, model: new RunModel(this.#rules, input) })
        return [null, null]
      }
      case 'claim':
        return await this.#claim(command.queue, command.worker, command.qty, [])
      case 'settle':
        return await this.#settle(command.reports, command.claims === true)
      case 'release':
        return await this.#release(command.claims, command.started)
      case 'recover': {
        const requeued = await this.#flow.core.requeueStalledTasks()
        return [requeued, this.#recoverModel()]
      }
    }
    const run = this.#runs[command.run % this.#runs.length]
    if (run === undefined) return [null, null]
    switch (command.kind) {
      case 'start again':
        return [await this.#flow.core.startFlows(this.#flow.slug, [this.#input(command.input)], [run.id]), [run.id]]
      case 'pass':
        await this.#flow.age(run.id, command.seconds)
        run.model.pass(command.seconds)
        return [null, null]
      case 'resume':
        return await this.#resume(run, command.wait, command.payload)
      case 'cancel':
        run.model.cancel()
        return [(await this.#sql`select status from pgflow.cancel_run(${run.id})`)[0]?.status, run.model.status]
      case 'retry':
        run.model.retry()
        return [(await this.#sql`select status from pgflow.retry_run(${run.id})`)[0]?.status, run.model.status]
    }
  }

  async #resume({ id, model }: Run, waitChoice: number, payloadChoice: number): Promise<readonly [unknown, unknown]> {
    const waits = [...this.#rules.values()].filter((step) => step.wait === true)
    if (waits.length === 0) return [null, null]
    const { slug, feedsMap } = pick(waits, waitChoice)
    const payload = feedsMap && payloadChoice % 4 !== 3 ? pick(ARRAYS, payloadChoice) : pick(OUTPUTS, payloadChoice)
    const outcome = await this.#sql<{ outcome: string }[]>`
      select outcome from pgflow.resume_wait(
        pgflow.issue_wait_token(${id}, ${slug}), ${JSON.stringify(payload)}::text::jsonb)`.then(
      ([row]) => row?.outcome,
      (error: { code: string }) => error.code,
    )
    this.seen.add(`resume ${outcome}`)
    return [outcome, model.resume(slug, payload)]
  }

  #input(choice: number): Json {
    return this.#takesArray ? pick(ARRAYS, choice) : pick(INPUTS, choice)
  }

  async #claim(
    queueChoice: number,
    workerChoice: number,
    qty: number,
    reports: readonly { claim: Claim; report: ModelReport }[],
  ): Promise<readonly [unknown, unknown]> {
    const worker = reports[0]?.report.worker ?? pick(this.#workers, workerChoice)
    const stepSlug = this.#queueOf(queueChoice)
    const work = await this.#flow.work(stepSlug, {
      qty,
      workerId: worker,
      reports: reports.map(({ claim, report }) => toTaskReport(claim.run.id, report)),
    })
    const accepted = this.#settleModel(reports)

    // Messages that the settlement has sent are read by the same call; their ids are the database's choice.
    await this.#lookUpMessages()
    const seen = this.#runs
      .flatMap((run) => run.model.tasks.map((task) => ({ run, task })))
      .filter(({ run, task }) => run.model.hasOpenMessage(task) && task.hidden <= 0 && this.#isServed(task, stepSlug))
      .sort((a, b) => Number(a.task.messageId) - Number(b.task.messageId))
      .slice(0, qty)
    const claimed: unknown[] = []
    let exhausted = 0
    // What can be claimed is, before the rest is looked at.
    const queued = seen.filter(({ task }) => task.status === 'queued')
    const started = seen.filter(({ task }) => task.status === 'started')
    const read = ({ run, task }: (typeof seen)[number], isBesideOthers: boolean) => {
      const verdict = run.model.read(task, worker, isBesideOthers)
      this.seen.add(`message ${verdict}`)
      if (verdict === 'exhausted') exhausted += 1
      if (verdict !== 'claimed') return
      this.#claims.push({
        run,
        report: { worker, stepSlug: task.stepSlug, taskIndex: task.taskIndex, attempt: task.attempts },
      })
      claimed.push([run.id, task.stepSlug, task.taskIndex, task.attempts, Number(task.messageId)])
    }
    for (const each of queued) read(each, false)
    const beside = this.#besideOthers(
      started.filter(({ run, task }) => run.model.stalled.includes(task)).map(({ task }) => task),
    )
    for (const each of started) read(each, beside.has(each.task))
    this.#keepStalled(started.map(({ task }) => task))
    return [
      {
        claimed: work.claimed
          .map((task) => [task.runId, task.stepSlug, task.taskIndex, task.attempt, Number(task.messageId)])
          .sort(),
        exhausted: work.stalled,
        unsupported: work.unsupported,
        refused: work.refused.length,
      },
      {
        claimed: claimed.sort(),
        exhausted,
        unsupported: [],
        refused: accepted.filter((isAccepted) => !isAccepted).length,
      },
    ]
  }

  /** Mostly one where there is something to read, sometimes any. */
  #queueOf(choice: number): string {
    const filled = this.#runs.flatMap(({ model }) =>
      model.tasks.filter((task) => model.hasOpenMessage(task) && task.hidden <= 0).map((task) => task.stepSlug),
    )
    return pick(filled.length > 0 && choice % 8 !== 0 ? filled : this.#handledSteps(), choice)
  }

  #handledSteps(): string[] {
    return [...this.#rules.values()].filter((step) => step.wait !== true).map(({ slug }) => slug)
  }

  #isServed(task: ModelTask, stepSlug: string): boolean {
    return this.#history.mode === 'flow' || task.stepSlug === stepSlug
  }

  async #settle(choices: readonly ReportChoice[], claims: boolean): Promise<readonly [unknown, unknown]> {
    const chosen = choices.flatMap((choice) => {
      const candidates = choice.late ? this.#claims : this.#claims.filter((claim) => this.#isHeld(claim))
      const claim = candidates[choice.claim % candidates.length]
      if (claim === undefined) return []
      const rules = this.#rules.get(claim.report.stepSlug)!
      const output =
        rules.feedsMap && choice.output % 4 !== 3 ? pick(ARRAYS, choice.output) : pick(OUTPUTS, choice.output)
      const outcome: ModelReport['outcome'] =
        choice.outcome === 'complete'
          ? { status: 'completed', output }
          : { status: 'failed', permanent: choice.outcome === 'fail for good', delay: choice.delay }
      return [{ claim, report: { ...claim.report, outcome } }]
    })
    // One call has one worker, and of two different reports of one attempt that it makes in one call nothing is promised
    // but that a completion goes before a failure.
    const worker = chosen[0]?.report.worker
    const names = new Set<string>()
    const reports = chosen.filter(({ claim, report }) => {
      const name = `${claim.run.id} ${report.stepSlug} ${report.taskIndex} ${report.attempt} ${report.outcome.status}`
      if (report.worker !== worker || names.has(name)) return false
      names.add(name)
      return true
    })
    if (worker === undefined) return [null, null]
    if (claims) return await this.#claim(choices[0]!.claim, 0, 3, reports)
    const results = await this.#flow.core.settleTasks(
      worker,
      reports.map(({ claim, report }) => toTaskReport(claim.run.id, report)),
    )
    return [results.map((result) => result.accepted), this.#settleModel(reports)]
  }

  #settleModel(reports: readonly { claim: Claim; report: ModelReport }[]): boolean[] {
    const accepted: boolean[] = []
    for (const run of new Set(reports.map(({ claim }) => claim.run))) {
      const ofRun = reports.flatMap(({ claim, report }, position) => (claim.run === run ? [{ report, position }] : []))
      const results = run.model.settle(ofRun.map(({ report }) => report))
      for (const [index, { position }] of ofRun.entries()) accepted[position] = results[index]!
      for (const isAccepted of results) this.seen.add(`report ${isAccepted ? 'accepted' : 'refused'}`)
    }
    return accepted
  }

  async #release(choices: readonly number[], started: boolean): Promise<readonly [unknown, unknown]> {
    const chosen = [...new Set(choices.map((choice) => this.#claims[choice % this.#claims.length]))]
    const worker = chosen[0]?.report.worker
    if (worker === undefined) return [null, null]
    const claims = chosen.filter((claim): claim is Claim => claim?.report.worker === worker)
    const released = await this.#flow.core.releaseTasks(
      worker,
      claims.map(({ run, report }) => ({
        runId: run.id,
        stepSlug: report.stepSlug,
        taskIndex: report.taskIndex,
        attempt: report.attempt,
        started,
      })),
    )
    const outcome = { status: 'failed', permanent: false, delay: 0 } as const
    const held = started
      ? this.#settleModel(claims.map((claim) => ({ claim, report: { ...claim.report, outcome } })))
      : claims.map(({ run, report }) => run.model.release({ ...report, outcome }))
    return [released, held.filter((isHeld) => isHeld).length]
  }

  #recoverModel(): number {
    for (const { model } of this.#runs) model.expire()
    const stalled = this.#runs.flatMap(({ model }) => model.stalled)
    const beside = this.#besideOthers(stalled)
    const requeued = this.#runs.map(({ model }) => model.recover((task) => beside.has(task)))
    this.#keepStalled(stalled)
    return requeued.reduce((sum, count) => sum + count, 0)
  }

  /** Those of these stalled tasks whose worker held another task in their queues, or one that was found stalled before. */
  #besideOthers(stalled: readonly ModelTask[]): ReadonlySet<ModelTask> {
    const steps = new Set(stalled.map((task) => task.stepSlug))
    const held = this.#runs
      .flatMap(({ model }) => model.tasks)
      .filter((task) => task.status === 'started' && (this.#history.mode === 'flow' || steps.has(task.stepSlug)))
    const others = (task: ModelTask) => [
      ...held.filter(({ worker }) => worker === task.worker),
      ...(this.#stalled.get(task.worker!) ?? []),
    ]
    return new Set(stalled.filter((task) => others(task).some((other) => other !== task)))
  }

  #keepStalled(tasks: readonly ModelTask[]): void {
    for (const task of tasks) {
      if (task.history.get(task.attempts) !== 'stalled') continue
      this.#stalled.set(task.worker!, (this.#stalled.get(task.worker!) ?? new Set()).add(task))
    }
  }

  #isHeld({ run, report }: Claim): boolean {
    const task = run.model.task(report.stepSlug, report.taskIndex)
    return task?.status === 'started' && task.attempts === report.attempt && task.worker === report.worker
  }

  async #lookUpMessages(): Promise<void> {
    const rows = await this.#sql<{ run_id: string; step_slug: string; task_index: number; message_id: string }[]>`
      select run_id, step_slug, task_index, message_id from pgflow.step_tasks where flow_slug = ${this.#flow.slug}`
    for (const row of rows) {
      const task = this.#runs.find((run) => run.id === row.run_id)?.model.task(row.step_slug, row.task_index)
      if (task?.messageId === null) task.messageId = row.message_id
    }
  }

  async #compare(): Promise<void> {
    await this.#lookUpMessages()
    const { slug } = this.#flow
    const queues = [...new Set(this.#handledSteps().map((step) => this.#flow.queue(step)))].sort()
    const [row] = await this.#sql<[{ runs: unknown; messages: string[] | null }]>`
      select
        (select jsonb_agg(jsonb_build_array(r.run_id, r.status, r.output, r.remaining_steps,
          (select jsonb_object_agg(s.step_slug, jsonb_build_array(s.status, s.skip_reason, s.output, s.remaining_tasks,
             case when s.status in ('created', 'started', 'completed') then s.remaining_deps end))
           from pgflow.step_states s where s.run_id = r.run_id),
          (select coalesce(jsonb_object_agg(t.step_slug || '[' || t.task_index || ']', jsonb_build_array(
             t.status, t.attempts_count, t.attempts_forgiven, t.requeued_count, t.last_worker_id, t.output, t.message_id::text,
             (select coalesce(jsonb_object_agg(a.attempt, a.reason), '{}') from pgflow.task_attempts a
              where a.run_id = t.run_id and a.step_slug = t.step_slug and a.task_index = t.task_index))), '{}')
           from pgflow.step_tasks t where t.run_id = r.run_id),
          (select coalesce(jsonb_object_agg(w.step_slug, jsonb_build_array(w.opened_at is not null, w.due_at is not null, w.payload)), '{}')
           from pgflow.waits w where w.run_id = r.run_id)) order by u.place)
         from unnest(${this.#runs.map((run) => run.id)}::uuid[]) with ordinality u(run_id, place)
         join pgflow.runs r on r.run_id = u.run_id where r.flow_slug = ${slug}) as runs,
        (${this.#messages(queues)}) as messages`
    const expected = this.#runs.map(({ id, model }) => [
      id,
      model.status,
      model.output,
      model.remainingSteps,
      Object.fromEntries(
        [...model.steps].map(([step, state]) => [
          step,
          [
            state.status,
            state.skipReason,
            state.output,
            state.remainingTasks,
            ['created', 'started', 'completed'].includes(state.status) ? state.remainingDeps : null,
          ],
        ]),
      ),
      Object.fromEntries(
        model.tasks.map((task) => [
          `${task.stepSlug}[${task.taskIndex}]`,
          [
            task.status,
            task.attempts,
            task.forgiven,
            task.requeued,
            task.worker,
            task.output,
            task.messageId,
            Object.fromEntries(task.history),
          ],
        ]),
      ),
      Object.fromEntries([
        ...[...model.early].map(([step, payload]) => [step, [false, false, payload]]),
        ...model.tasks
          .filter((task) => task.status === 'waiting')
          .map((task) => [task.stepSlug, [true, task.due !== null, null]]),
      ]),
    ])
    deepStrictEqual(row.runs ?? [], expected)
    for (const { model } of this.#runs) {
      this.seen.add(`run ${model.status}`)
      for (const step of model.steps.values()) this.seen.add(`step ${step.skipReason ?? step.status}`)
      for (const task of model.tasks) {
        this.seen.add(`task ${task.status}`)
        for (const reason of task.history.values()) this.seen.add(`attempt ${reason}`)
      }
    }

    const messages = this.#runs.flatMap(({ model }) =>
      model.tasks
        .filter((task) => model.hasOpenMessage(task))
        .map(
          (task) => `${this.#flow.queue(task.stepSlug)} ${task.messageId} ${task.hidden > 0 ? 'hidden' : 'visible'}`,
        ),
    )
    deepStrictEqual((row.messages ?? []).slice().sort(), messages.sort())
  }

  #messages(queues: readonly string[]) {
    const selects = queues.map(
      (queue) => this.#sql`
        select ${queue}::text || ' ' || q.msg_id || case when q.vt > clock_timestamp() then ' hidden' else ' visible' end as message
        from ${this.#sql(`pgmq.q_${queue}`)} q`,
    )
    const union = selects.slice(1).reduce((all, one) => this.#sql`${all} union all ${one}`, selects[0]!)
    return this.#sql`select jsonb_agg(m.message) from (${union}) m`
  }
}

function toTaskReport(runId: string, { stepSlug, taskIndex, attempt, outcome }: ModelReport): TaskReport {
  const identity = { runId, stepSlug, taskIndex, attempt }
  return outcome.status === 'completed'
    ? { ...identity, status: 'completed', output: JSON.stringify(outcome.output) }
    : {
        ...identity,
        status: 'failed',
        errorMessage: 'boom',
        permanent: outcome.permanent,
        retryDelaySeconds: outcome.delay,
      }
}

function pick<T>(values: readonly T[], choice: number): T {
  return values[choice % values.length]!
}

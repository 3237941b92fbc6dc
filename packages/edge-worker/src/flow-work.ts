import { type HandledStep, type Json, type StepDefinition, toJsonText, UnknownStepError } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { Sql } from 'postgres'
import { compileFlow } from './compile-flow.ts'
import { exactInput } from './exact-input.ts'
import { InputCheck } from './input-check.ts'
import { TRANSACTIONAL_MAP_LIMIT } from './numbers.ts'
import { RunCache } from './run-cache.ts'
import type { FlowSubscription, StepSubscription } from './subscription.ts'
import { stepContext } from './task-context.ts'
import type { AttemptReport, TaskToGiveBack } from './task-outcome.ts'
import { runInTransaction, type SettledInTransaction } from './transactional-step.ts'
import { mapTooLargeError, sqlRefusedInTransaction } from './transactional-step-check.ts'
import type { ClaimAnswer, ClaimedWork, RefusedReport, Work } from './work.ts'
import { attemptOf, type TaskIdentity } from './work-identity.ts'
import type { WorkResources } from './work-resources.ts'
import type { ClaimedTask, TaskReport, TaskToRelease } from './worker-sql.ts'

/** The tasks of a flow, or of one of its steps. */
export class FlowWork implements Work {
  readonly #subscription: FlowSubscription | StepSubscription
  readonly #resources: WorkResources
  readonly #flowInputs = new RunCache<Json>()
  readonly #mapSizes = new RunCache<number>()
  readonly #inputCheck: InputCheck
  #queueName: string | undefined

  constructor(subscription: FlowSubscription | StepSubscription, resources: WorkResources) {
    this.#subscription = subscription
    this.#resources = resources
    this.#inputCheck = new InputCheck(subscription.flowSlug, subscription.flow.input)
  }

  async open(): Promise<string> {
    const { sql, platform, emit, sleep } = this.#resources
    this.#queueName = await compileFlow({
      sql,
      subscription: this.#subscription,
      codeAgeMs: () => platform.ageMs(),
      emit,
      sleep,
    })
    return this.#queueName
  }

  async settleAndClaim(reports: readonly AttemptReport[], qty: number, alone: boolean): Promise<ClaimAnswer> {
    const { sql, workerId, settings } = this.#resources
    const { flowSlug, stepSlug } = this.#subscription
    return await sql.settleAndClaim({
      workerId,
      reports: reports as readonly TaskReport[],
      queueName: this.#openQueue(),
      flowSlug,
      stepSlug,
      qty,
      onUnsupported: settings.onUnsupportedMessage,
      alone,
    })
  }

  async settle(reports: readonly AttemptReport[]): Promise<readonly RefusedReport[]> {
    return (await this.settleAndClaim(reports, 0, false)).refused
  }

  async heldUp(reports: readonly AttemptReport[]): Promise<readonly AttemptReport[]> {
    const runOf = (report: AttemptReport) => (report as TaskIdentity).runId
    const held = new Set(await this.#resources.sql.heldRuns([...new Set(reports.map(runOf))]))
    return reports.filter((report) => held.has(runOf(report)))
  }

  async release(tasks: readonly TaskToGiveBack[]): Promise<void> {
    await this.#resources.sql.releaseTasks(this.#resources.workerId, tasks as readonly TaskToRelease[])
  }

  /** Tasks that a dead worker left without an attempt: no claim can end them, and cron may be late or absent. */
  async recoverStalled(): Promise<void> {
    await this.#resources.sql.requeueStalledTasks()
  }

  timeoutSeconds(item: ClaimedWork): number {
    return taskOf(item).timeoutSeconds
  }

  timeoutError(item: ClaimedWork): StarflowError {
    const { stepSlug, timeoutSeconds } = taskOf(item)
    return new StarflowError({
      code: 'SF407',
      message: `Step "${stepSlug}" did not end within its timeout of ${timeoutSeconds} s.`,
      detail: 'Its signal was aborted, and whatever it still returns is dropped.',
      hint: "Raise the step's timeout, or pass ctx.signal to what the handler waits for.",
      fields: { stepSlug, timeoutSeconds },
    })
  }

  async invoke(item: ClaimedWork, signal: AbortSignal): Promise<unknown> {
    const task = taskOf(item)
    const { flow } = this.#subscription
    const isKnown = flow.stepOrder.includes(task.stepSlug)
    if (!isKnown) throw new UnknownStepError(flow.slug, task.stepSlug, flow.stepOrder)
    // A wait has no message, so none is ever claimed.
    const step = flow.getStepDefinition(task.stepSlug) as HandledStep<AnyHandler>
    const argument = exactInput(takesFlowInput(step) ? task.flowInput : task.input)
    const isRoot = step.dependencies.length === 0
    if (isRoot && flow.input !== undefined) await this.#inputCheck.require(task.runId, () => this.#flowInput(task))
    const loading = this.#resources.supabase.ready()
    if (loading !== undefined) await loading
    const lent = this.#resources.handlersSql.lend(signal)
    try {
      if (step.transactional) return await this.#invokeInTransaction(task, step, argument, signal, lent.sql)
      return await step.handler(
        argument,
        this.#context(task, signal, () => lent.sql),
      )
    } finally {
      lent.giveBack()
    }
  }

  async #invokeInTransaction(
    task: ClaimedTask,
    step: HandledStep<AnyHandler>,
    argument: Json | null,
    signal: AbortSignal,
    sql: Sql,
  ): Promise<SettledInTransaction> {
    if (step.stepType === 'map') await this.#checkMapSize(task)
    const { connect, workerId } = this.#resources
    const context = this.#context(task, signal, sqlRefusedInTransaction)
    return await runInTransaction({
      sql,
      signal,
      timeoutSeconds: task.timeoutSeconds,
      handler: (tx) =>
        step.handler(
          argument,
          // Keeps the getters of the context as they are: what costs something is made when it is read.
          Object.defineProperty(context, 'tx', { value: tx, enumerable: true }),
        ),
      settle: async (tx, output) => {
        const report = {
          ...(attemptOf(task) as TaskIdentity),
          status: 'completed',
          output: toJsonText(output),
        } as const
        const [result] = await connect(tx).settleTasks(workerId, [report])
        return result?.accepted === true ? undefined : (result?.reason ?? 'refused')
      },
    })
  }

  /** Asked once for all elements of a map that run here. */
  async #checkMapSize({ runId, stepSlug }: ClaimedTask): Promise<void> {
    const elements = await this.#mapSizes.get(`${runId}/${stepSlug}`, () =>
      this.#resources.sql.stepSize(runId, stepSlug),
    )
    if (elements > TRANSACTIONAL_MAP_LIMIT) throw mapTooLargeError(stepSlug, elements)
  }

  async lost(items: readonly ClaimedWork[]): Promise<ReadonlyMap<ClaimedWork, Error>> {
    const { sql, workerId } = this.#resources
    const lost = await sql.lostAttempts(workerId, items.map(taskOf))
    return new Map(
      lost.flatMap(({ reason, ...attempt }) => {
        const item = items.find((each) => isSameAttempt(taskOf(each), attempt))
        return item === undefined ? [] : [[item, lostAttemptError(attempt, reason)] as const]
      }),
    )
  }

  serialise(output: unknown): string {
    return toJsonText(output)
  }

  close(): void {}

  #context(task: ClaimedTask, signal: AbortSignal, sql: () => Sql) {
    const { platform, supabase, shutdownSignal, settings, emit } = this.#resources
    return stepContext(task, signal, {
      env: platform.env,
      sql,
      supabase: () => supabase.client(),
      shutdownSignal,
      workerConfig: settings,
      flowInput: () => this.#flowInput(task),
      emit,
    })
  }

  #flowInput(task: ClaimedTask): Promise<Json> {
    const step = this.#subscription.flow.getStepDefinition(task.stepSlug)
    if (takesFlowInput(step)) return Promise.resolve(task.flowInput)
    return this.#flowInputs.get(task.runId, async () => exactInput(await this.#resources.sql.flowInput(task.runId)))
  }

  #openQueue(): string {
    if (this.#queueName === undefined) throw new Error('Nothing can be claimed before the queue is known.')
    return this.#queueName
  }
}

/** A handler with its types erased: which input belongs to which step is the flow's business. */
type AnyHandler = (input: unknown, context: object) => unknown

/** Whatever is claimed here was claimed from the flow's queue. */
const taskOf = (item: ClaimedWork) => item as ClaimedTask

function isSameAttempt(left: TaskIdentity, right: TaskIdentity): boolean {
  const { runId, stepSlug, taskIndex, attempt } = right
  return left.runId === runId && left.stepSlug === stepSlug && left.taskIndex === taskIndex && left.attempt === attempt
}

function lostAttemptError({ runId, stepSlug, attempt }: TaskIdentity, reason: string): StarflowError {
  return new StarflowError({
    code: 'SF419',
    message: `Attempt ${attempt} of step "${stepSlug}" counts no more: ${reason}.`,
    detail: `Run ${runId}. What its handler still returns is dropped.`,
    hint: 'Pass ctx.signal to what the handler waits for, so that it ends with its attempt.',
    fields: { runId, stepSlug, attempt },
  })
}

/** A root step's argument is the run's input, which then comes with the claim. */
function takesFlowInput(step: StepDefinition): boolean {
  return step.stepType === 'single' && step.dependencies.length === 0
}

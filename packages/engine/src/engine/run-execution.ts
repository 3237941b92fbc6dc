import { type AnyFlow, inputProblem, invalidInput, type Json, type JsonObject } from '@starflow/dsl'
import { describeError, isStarflowError } from '@starflow/errors'
import { type OpenSpan, strayLog, type Tracing } from '@starflow/tracing'
import { nodeId } from '../node-id.ts'
import { LONG_DELAY_MS } from '../numbers.ts'
import type { RunFailure } from '../run-record.ts'
import type { RunStart, WorkflowStateAdapter } from '../state-adapter.ts'
import { enterDurableWait, settledWait, type WaitHost } from '../wait/enter-durable-wait.ts'
import { type AttemptEnd, runAttempt } from './attempt.ts'
import type { Clock, DatabaseTime } from './clock.ts'
import { DurableWrites, WritesClosedError } from './durable-writes.ts'
import type { EngineEventBody } from './events.ts'
import type { FlowPlan, PlannedStep } from './flow-plan.ts'
import { retryDelaySecondsAfter } from './retry-delay.ts'
import { runAccess } from './run-access.ts'
import { typeViolation } from './run-failures.ts'
import type { ReadyTask, RunOutcome, RunState, StateEvent } from './run-state.ts'
import { sharedAbortController } from './shared-abort-controller.ts'
import { type EngineResources, stepContext } from './step-context.ts'
import type { Transition } from './step-progress.ts'

/**
 * How a run ended here. `success` and `error` are its end; `paused` waits for somebody, `released` for a moment. `lost`: it
 * is another runner's, or was cancelled. `stopped`: this process ends; the sweep gives the run to another one.
 */
export type ExecutionEnd = 'success' | 'error' | 'paused' | 'released' | 'lost' | 'stopped'

/** With what it ended, where it did. */
export type ExecutionResult =
  | { readonly end: 'success'; readonly output: JsonObject }
  | { readonly end: 'error'; readonly failure: RunFailure }
  | { readonly end: Exclude<ExecutionEnd, 'success' | 'error'> }

/** Why a run is stopped from outside: see {@link RunExecution.stop}. */
export type StopReason = Extract<ExecutionEnd, 'lost' | 'stopped'>

/** Which of the tasks that are due runs next; for schedules that are to be repeated. */
export type PickTask = (tasks: readonly ReadyTask[]) => ReadyTask

/** How many handlers of a run are at work at once. */
export interface ExecutionLimits {
  /** Elements of one map. */
  readonly mapConcurrency: number
  /** Of the whole run. */
  readonly runConcurrency: number
}

export interface RunExecutionOptions {
  readonly flow: AnyFlow
  readonly plan: FlowPlan
  /** Everything that happened so far is in it. */
  readonly state: RunState
  readonly run: RunStart & { readonly runId: string }
  /** Bound to the claim. */
  readonly adapter: WorkflowStateAdapter
  readonly limits: ExecutionLimits
  readonly clock: Clock
  readonly time: DatabaseTime
  readonly pick?: PickTask | undefined
  readonly waitHost?: WaitHost | undefined
  readonly resources: EngineResources
  /** Aborted when this process is about to end. */
  readonly shutdownSignal: AbortSignal
  readonly emit: (event: EngineEventBody) => void
  readonly tracing?: Tracing | undefined
  /** Who executes it, for its spans. */
  readonly runnerId: string
}

/**
 * Executes a run that this process holds, to its end or as far as it goes. One loop decides: it writes what has to change,
 * starts what can run, and sleeps until something has happened. State changes only by events, and only after the event of it
 * was written, so that what this process believes is never ahead of what another one would read.
 */
export class RunExecution {
  readonly #options: RunExecutionOptions
  readonly #writes: DurableWrites
  readonly #controller = sharedAbortController()
  readonly #active = new Set<{ readonly task: ReadyTask; readonly controller: AbortController }>()
  readonly #activeByStep = new Map<string, number>()
  #stopReason: StopReason | undefined
  #crash: { readonly error: unknown } | undefined
  #isDraining = false
  #inputProblem: Promise<string | null> | undefined
  #hasChanged = false
  #wake = () => {}

  constructor(options: RunExecutionOptions) {
    this.#options = options
    this.#writes = new DurableWrites({
      clock: options.clock,
      signal: this.#controller.signal,
      onRetry: ({ method, attempt, error }) =>
        options.emit({ level: 'warn', event: 'write.retried', method, attempt, errorName: errorName(error) }),
    })
  }

  /** @throws what a write of the run failed with for longer than a lease lasts; the run has no end then */
  async execute(): Promise<ExecutionResult> {
    const { clock, emit, state } = this.#options
    const beganAt = clock.now()
    emit({ level: 'info', event: 'run.started', resumed: state.isStarted })
    try {
      const result = await this.#runUntilOver()
      const level = result.end === 'lost' || result.end === 'stopped' ? 'warn' : 'info'
      emit({ level, event: 'run.ended', end: result.end, durationMs: Math.round(clock.now() - beganAt) })
      return result
    } catch (error) {
      emit({ level: 'error', event: 'run.broken', errorName: errorName(error), message: describeError(error).message })
      throw error
    } finally {
      this.#controller.abort(new WritesClosedError())
      this.#abortHandlers(new WritesClosedError())
    }
  }

  async #runUntilOver(): Promise<ExecutionResult> {
    try {
      return await this.#run()
    } catch (error) {
      if (this.#stopReason !== undefined) return { end: this.#stopReason }
      if (isStarflowError(error, 'SF801')) return { end: 'lost' }
      throw error
    }
  }

  /** Starts nothing more; when what is under way has ended, the run is given back to the queue, unless that was its end. */
  drain(): void {
    this.#isDraining = true
    this.#notify()
  }

  /** Ends the execution without another write: the run is no longer this process's, or will soon not be. */
  stop(reason: StopReason): void {
    if (this.#stopReason !== undefined) return
    this.#stopReason = reason
    this.#controller.abort(new WritesClosedError())
    this.#notify()
  }

  async #run(): Promise<ExecutionResult> {
    const { state } = this.#options
    await this.#begin()
    await this.#settleWaits()
    for (;;) {
      this.#hasChanged = false
      this.#throwIfOver()
      await this.#writeTransitions()
      const outcome = state.outcome()
      if (outcome !== undefined) return await this.#end(outcome)
      if (this.#isDraining) {
        if (this.#active.size === 0) return await this.#release(0, 'drain')
        await this.#change(undefined)
        continue
      }
      this.#startReadyTasks()
      const dueInMs = this.#dueInMs()
      if (this.#active.size === 0 && (dueInMs === undefined || dueInMs > LONG_DELAY_MS)) {
        if (dueInMs !== undefined && state.openWaits().length === 0) return await this.#release(dueInMs, 'delay')
        if (await this.#enterWaits()) return await this.#leavePaused()
        continue
      }
      await this.#change(dueInMs)
    }
  }

  async #begin(): Promise<void> {
    const { adapter, run, state, time } = this.#options
    await this.#writes.write('onRunStart', () => adapter.onRunStart(run.runId, run))
    if (!state.isStarted) this.#apply({ type: 'run_started', nodeId: null, payload: null })
    // Whoever held the run before does not any more.
    state.closeOpenAttempts(time.now())
  }

  #throwIfOver(): void {
    if (this.#stopReason !== undefined) throw new WritesClosedError()
    if (this.#crash !== undefined) throw this.#crash.error
  }

  /** Writes all that follows from what happened, one after another, until nothing does. */
  async #writeTransitions(): Promise<void> {
    for (;;) {
      const transition = this.#options.state.nextTransition()
      if (transition === undefined) return
      await this.#writeTransition(transition)
      this.#throwIfOver()
    }
  }

  async #writeTransition(transition: Transition): Promise<void> {
    const { adapter, run, emit } = this.#options
    const { stepSlug } = transition
    switch (transition.kind) {
      case 'skip': {
        const { reason } = transition
        // Its siblings are of no use any more.
        this.#abortHandlers(new WritesClosedError(), stepSlug)
        await this.#writes.write('onNodeSkip', () => adapter.onNodeSkip(run.runId, stepSlug, reason))
        this.#apply({ type: 'node_skip', nodeId: stepSlug, payload: { reason } })
        emit({ level: 'info', event: 'node.skipped', nodeId: stepSlug, reason })
        return
      }
      case 'complete': {
        const { output } = transition
        await this.#writes.write('onNodeComplete', () => adapter.onNodeComplete(run.runId, stepSlug, output))
        this.#apply({ type: 'node_complete', nodeId: stepSlug, payload: { output } })
        return
      }
      case 'fail': {
        const { index, attempt, failure } = transition
        const step = this.#options.plan.bySlug.get(stepSlug)!
        const node = index === undefined ? stepSlug : nodeOf({ step, index })
        await this.#writeError(node, attempt, failure)
        return
      }
    }
  }

  #startReadyTasks(): void {
    for (;;) {
      if (!this.#canStartMore()) return
      const task = this.#nextTask()
      if (task === undefined) return
      const controller = new AbortController()
      const active = { task, controller }
      this.#active.add(active)
      this.#count(task.step, 1)
      void this.#runTask(task, nodeOf(task), controller)
        .catch((error: unknown) => {
          if (!(error instanceof WritesClosedError)) this.#crash ??= { error }
        })
        .then(() => {
          this.#active.delete(active)
          this.#count(task.step, -1)
          this.#notify()
        })
    }
  }

  #nextTask(): ReadyTask | undefined {
    const { state, time, pick } = this.#options
    const now = time.now()
    if (pick === undefined) return state.takeReady(now, (step) => this.#mayTake(step))
    const tasks = state.readyTasks(now).filter(({ step }) => this.#mayTake(step))
    if (tasks.length === 0) return undefined
    const task = pick(tasks)
    state.take(task)
    return task
  }

  #canStartMore(): boolean {
    return this.#active.size < this.#options.limits.runConcurrency
  }

  #mayTake(step: PlannedStep): boolean {
    return step.stepType !== 'map' || (this.#activeByStep.get(step.slug) ?? 0) < this.#options.limits.mapConcurrency
  }

  #count(step: PlannedStep, by: 1 | -1): void {
    this.#activeByStep.set(step.slug, (this.#activeByStep.get(step.slug) ?? 0) + by)
  }

  async #runTask(task: ReadyTask, node: string, controller: AbortController): Promise<void> {
    const { state, adapter, run, clock } = this.#options
    const { step, attempt } = task
    const input = state.taskInput(task)
    // The input of a node does not change: its first attempt says it.
    const start = attempt === 1 ? { attempt, input } : { attempt }
    await this.#writes.write('onNodeStart', () => adapter.onNodeStart(run.runId, node, start))
    this.#apply({ type: 'node_start', nodeId: node, payload: { attempt } })
    if (!state.isOpen(step.slug)) return

    const startedAt = clock.now()
    const span = this.#beginSpan(task)
    const end = await this.#attempt(task, node, input, controller.signal, span)
    if (!end.ok) span?.fail(end.failure.code ?? end.failure.name)
    span?.end()
    // Its run or step has ended here: an outcome that comes now is nobody's, as the SQL core refuses such a report.
    if (controller.signal.aborted || this.#stopReason !== undefined || !state.isOpen(step.slug)) return
    const durationMs = Math.round(clock.now() - startedAt)
    if (end.ok) await this.#onOutput(task, node, end.output, durationMs)
    else await this.#onFailure(task, node, end)
  }

  /** A child of the span that started the run, whichever process that was. */
  #beginSpan({ step, index, attempt }: ReadyTask): OpenSpan | undefined {
    const { tracing, flow, run, runnerId } = this.#options
    return tracing?.begin({
      ...{ name: `execute ${flow.slug}.${step.slug}`, kind: 'consumer', parent: run.traceparent },
      attributes: {
        ...{ 'starflow.flow': flow.slug, 'starflow.step': step.slug, 'starflow.run_id': run.runId },
        ...{ 'starflow.placement': 'runner', 'starflow.workspace': run.workspaceId, 'starflow.runner_id': runnerId },
        ...{ 'starflow.attempt': attempt, 'starflow.task_index': step.stepType === 'map' ? index : undefined },
      },
    })
  }

  #attempt(
    task: ReadyTask,
    node: string,
    input: Json,
    stopSignal: AbortSignal,
    span: OpenSpan | undefined,
  ): Promise<AttemptEnd> {
    const { flow, state, run, clock, resources, shutdownSignal, emit, adapter } = this.#options
    const { step, attempt } = task
    let isOver = false
    const log = { nodeId: node, attempt }
    return runAttempt({
      stepSlug: step.slug,
      timeoutSeconds: step.timeoutSeconds,
      clock,
      stopSignal,
      onAbandoned: () => emit({ level: 'warn', event: 'node.abandoned', ...log }),
      onStray: (error, failsAttempt) =>
        emit({
          ...{ level: 'error', event: 'handler.stray', ...log, ...strayLog(error), failsAttempt },
        }),
      invoke: async (signal) => {
        if (step.dependencies.length === 0) await this.#requireInput()
        const definition = flow.getStepDefinition(step.slug)
        if (definition.stepType === 'wait') throw new Error('A wait runs nothing.')
        const lent = resources.lendSql?.(signal)
        const context = stepContext({
          task: { runId: run.runId, flowSlug: flow.slug, stepSlug: step.slug, taskIndex: task.index, attempt },
          signal,
          shutdownSignal,
          resources,
          lent,
          flowInput: () => state.input,
          state: runAccess({
            ...{ runId: run.runId, nodeId: node, workspaceId: run.workspaceId, env: run.env, adapter, state },
            ...{ clock, signal },
            writes: this.#writes,
            apply: (event) => this.#apply(event),
            isOver: () => isOver,
          }),
          log: (level, message, details) =>
            emit({ level, event: 'handler.log', ...log, message, ...(details.length > 0 && { details }) }),
        })
        // A copy of its own: what one handler does to its input, no other one sees.
        const handle = () => definition.handler(structuredClone(input), context)
        try {
          return await (span === undefined ? handle() : span.run(handle))
        } finally {
          lent?.giveBack()
        }
      },
    }).finally(() => {
      isOver = true
    })
  }

  /**
   * Whoever queued the run may have checked nothing. As on workers, each root step asks before its handler, and what it asks is asked
   * once.
   *
   * @throws NonRetryableError
   */
  async #requireInput(): Promise<void> {
    const { flow, state } = this.#options
    if (flow.input === undefined) return
    this.#inputProblem ??= inputProblem(flow.input, state.input)
    const problem = await this.#inputProblem
    if (problem !== null) throw invalidInput(flow.slug, problem)
  }

  async #onOutput(task: ReadyTask, node: string, output: Json, durationMs: number): Promise<void> {
    const { adapter, run, emit } = this.#options
    const { attempt } = task
    const violation = task.step.stepType === 'map' ? undefined : typeViolation(task.step, output)
    if (violation !== undefined) return await this.#writeError(node, attempt, violation)
    await this.#writes.write('onNodeComplete', () =>
      adapter.onNodeComplete(run.runId, node, output, { attempt, durationMs }),
    )
    this.#apply({ type: 'node_complete', nodeId: node, payload: { output } })
    emit({ level: 'debug', event: 'node.completed', nodeId: node, attempt, durationMs })
  }

  async #onFailure(task: ReadyTask, node: string, end: Extract<AttemptEnd, { ok: false }>): Promise<void> {
    const { adapter, run, state, emit } = this.#options
    const { step, attempt } = task
    const error = end.failure
    const attempts = state.countedAttempts(task)
    if (end.isPermanent || attempts >= step.maxAttempts) return await this.#writeError(node, attempt, error)
    const delayMs = retryDelaySecondsAfter(attempts, step, end.delaySeconds) * 1000
    await this.#writes.write('onNodeRetry', () => adapter.onNodeRetry(run.runId, node, { attempt, error, delayMs }))
    this.#apply({ type: 'node_retry', nodeId: node, payload: { attempt, delay_ms: delayMs } })
    emit({
      ...{ level: 'warn', event: 'node.failed', nodeId: node, attempt },
      ...{ errorName: error.name, isFinal: false, retryInMs: delayMs },
    })
  }

  async #writeError(node: string, attempt: number, error: RunFailure): Promise<void> {
    const { adapter, run, emit } = this.#options
    await this.#writes.write('onNodeError', () => adapter.onNodeError(run.runId, node, { attempt, error }))
    this.#apply({ type: 'node_error', nodeId: node, payload: { attempt, error: { ...error } } })
    emit({ level: 'warn', event: 'node.failed', nodeId: node, attempt, errorName: error.name, isFinal: true })
  }

  /**
   * Enters the waits that stand open, once nothing else of the run can go on, all together: a paused run holds no runner, so
   * whatever could still run would stand still with it. False when one of them was over already.
   */
  async #enterWaits(): Promise<boolean> {
    const { state, run, plan, adapter, waitHost, time, emit } = this.#options
    const waits = state.openWaits()
    if (waits.length === 0) throw new Error(`Run ${run.runId} has no end, and nothing in it can go on.`)
    if (waitHost === undefined) throw new Error(`Flow "${plan.flowSlug}" has a wait, and nobody to tell of it.`)
    const over = await enterDurableWait({
      ...{ run, flowSlug: plan.flowSlug, waits, adapter, waitHost },
      nowMs: () => time.now(),
      variables: Object.fromEntries(state.variables),
      phase: state.phase,
      write: (method, call) => this.#writes.write(method, call),
      apply: (event) => this.#apply(event),
    })
    if (over.length === 0) {
      for (const { step } of waits) emit({ level: 'info', event: 'wait.opened', nodeId: step.slug })
      return true
    }
    await this.#settleWaits()
    return false
  }

  /** The last write of a run that has entered its waits. What is due later lets it go on as well. */
  async #leavePaused(): Promise<ExecutionResult> {
    const { adapter, run } = this.#options
    const dueInMs = this.#dueInMs()
    if (dueInMs === undefined) await this.#writes.last('clearLease', () => adapter.clearLease(run.runId))
    else await this.#release(dueInMs, 'delay')
    return { end: 'paused' }
  }

  /** Takes what waits have come to: a payload is the output of its step, a timeout a failure of it. */
  async #settleWaits(): Promise<void> {
    const { state, adapter, run } = this.#options
    if (state.isPaused) {
      await this.#writes.write('onRunResumed', () => adapter.onRunResumed(run.runId))
      this.#apply({ type: 'run_resumed', nodeId: null, payload: null })
    }
    const entered = state.openWaits().filter((wait) => wait.wasEntered)
    if (entered.length === 0) return
    const records = await this.#writes.write('readWaits', () => adapter.readWaits(run.runId))
    for (const { step, attempt } of entered) {
      const record = records.find((each) => each.nodeId === step.slug)
      const end = record && settledWait(record, step)
      if (end === undefined) continue
      if (end.ok) await this.#onOutput({ step, index: 0, attempt }, step.slug, end.payload, 0)
      else await this.#writeError(step.slug, attempt, end.failure)
    }
  }

  async #end(outcome: RunOutcome): Promise<ExecutionResult> {
    if (outcome.status === 'error') return await this.#fail(outcome.failure)
    const { adapter, run } = this.#options
    const end = { output: outcome.output, durationMs: this.#durationMs() }
    await this.#writes.last('onRunComplete', () => adapter.onRunComplete(run.runId, end))
    await this.#writes.last('clearLease', () => adapter.clearLease(run.runId))
    return { end: 'success', output: outcome.output }
  }

  async #fail(failure: RunFailure): Promise<ExecutionResult> {
    const { adapter, run } = this.#options
    this.#abortHandlers(new WritesClosedError())
    await this.#writes.last('onRunError', () => adapter.onRunError(run.runId, failure))
    await this.#writes.last('clearLease', () => adapter.clearLease(run.runId))
    return { end: 'error', failure }
  }

  /** A long delay holds no lease, and neither does a process that ends: until then the run is nobody's. */
  async #release(delayMs: number, reason: 'delay' | 'drain'): Promise<ExecutionResult> {
    const { adapter, run } = this.#options
    const release = { delayMs: Math.ceil(delayMs), reason }
    await this.#writes.last('releaseRun', () => adapter.releaseRun(run.runId, release))
    return { end: 'released' }
  }

  #apply(event: Omit<StateEvent, 'atMs'>): void {
    this.#options.state.apply({ ...event, atMs: this.#options.time.now() })
    this.#notify()
  }

  #durationMs(): number {
    const { time, state } = this.#options
    return Math.max(0, Math.round(time.now() - state.startedAtMs))
  }

  /** How long until something more can start; undefined: not before something ends. */
  #dueInMs(): number | undefined {
    const { state, time } = this.#options
    const due = this.#canStartMore() ? state.nextDueMs((step) => this.#mayTake(step)) : undefined
    return due === undefined ? undefined : Math.max(0, due - time.now())
  }

  /** Settles when something has happened since the loop last looked, or so much time has passed. */
  #change(withinMs: number | undefined): Promise<void> {
    if (this.#hasChanged) return Promise.resolve()
    return new Promise((resolve) => {
      const takeBack = withinMs === undefined ? () => {} : this.#options.clock.after(withinMs, resolve)
      this.#wake = () => {
        takeBack()
        resolve()
      }
    })
  }

  #notify(): void {
    this.#hasChanged = true
    this.#wake()
  }

  #abortHandlers(reason: unknown, stepSlug?: string): void {
    for (const { task, controller } of this.#active) {
      if (stepSlug === undefined || task.step.slug === stepSlug) controller.abort(reason)
    }
  }
}

function nodeOf({ step, index }: Pick<ReadyTask, 'step' | 'index'>): string {
  return nodeId(step.slug, step.stepType === 'map' ? index : undefined)
}

function errorName(error: unknown): string {
  return describeError(error).name
}

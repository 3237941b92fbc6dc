import type { Json, JsonObject } from '@starflow/dsl'
import { parseNodeId } from '../node-id.ts'
import type { RunEvent, RunFailure } from '../run-record.ts'
import type { SkipReason } from '../state-adapter.ts'
import type { FlowPlan, PlannedStep } from './flow-plan.ts'
import { contains } from './json-containment.ts'
import { conditionUnmet, inputViolation, isTypeViolation, stalled } from './run-failures.ts'
import { StepProgress, type StepStatus, type Transition } from './step-progress.ts'

/** What happened, as far as a run's state depends on it. */
export interface StateEvent extends Pick<RunEvent, 'type' | 'nodeId' | 'payload'> {
  /** By the database's clock. */
  readonly atMs: number
}

/** A task that can run. */
export interface ReadyTask {
  readonly step: PlannedStep
  readonly index: number
  /** The one that would begin now; counted from 1 over the whole life of the run. */
  readonly attempt: number
}

/** A wait that stands open. */
export interface OpenWait {
  readonly step: PlannedStep
  readonly attempt: number
  /** Its start is written. */
  readonly wasEntered: boolean
  /** Somebody has been told of it. */
  readonly wasAnnounced: boolean
}

export type RunOutcome =
  | { readonly status: 'success'; readonly output: JsonObject }
  | { readonly status: 'error'; readonly stepSlug: string; readonly failure: RunFailure }

/** A step as it stands; for tests, progress displays and comparisons. */
export interface StepSnapshot {
  readonly slug: string
  readonly status: StepStatus
  readonly skipReason: SkipReason | null
  readonly output: Json | null
  readonly failure: RunFailure | null
  readonly attempts: readonly number[]
}

/**
 * What a run has come to: a fold over its events. It does no I/O and reads no clock, and whoever folds the same events gets the
 * same state, so that a run goes on in another process as if nothing had happened.
 *
 * Events say what happened to nodes. What follows from them for other steps is decided here by the rules of the SQL core:
 * steps whose dependencies have ended are judged by their condition and start, or have to change (a {@link Transition}). A
 * transition is not part of the state before its event is: whoever dies in between finds it again.
 */
export class RunState {
  readonly plan: FlowPlan
  readonly input: Json
  readonly variables = new Map<string, Json>()
  phase: string | undefined
  readonly #steps: ReadonlyMap<string, StepProgress>
  /** Waits whose token may be out: a pause has named them, and nobody was lost in it. */
  readonly #announced = new Set<string>()
  #isPaused = false
  #startedAtMs: number | undefined
  #openSteps: number
  #failedSteps = 0

  constructor(plan: FlowPlan, input: Json) {
    this.plan = plan
    this.input = input
    this.#steps = new Map(plan.steps.map((step) => [step.slug, new StepProgress(step)]))
    this.#openSteps = plan.steps.length
  }

  get isStarted(): boolean {
    return this.#startedAtMs !== undefined
  }

  /** 0 before it has started. */
  get startedAtMs(): number {
    return this.#startedAtMs ?? 0
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  apply(event: StateEvent): void {
    const { type, atMs } = event
    const payload = event.payload ?? {}
    switch (type) {
      case 'run_started':
        this.#start(atMs)
        break
      case 'node_start':
        this.#onTask(event, (progress, index) => progress.onStart(index, Number(payload.attempt)))
        break
      case 'node_retry':
        this.#onTask(event, (progress, index) =>
          progress.onRetry(index, Number(payload.attempt), atMs + Number(payload.delay_ms)),
        )
        break
      case 'node_complete':
        this.#onComplete(event, payload.output ?? null)
        break
      case 'node_error':
        this.#onError(event, Number(payload.attempt), payload.error as unknown as RunFailure)
        break
      case 'node_skip':
        this.#onTask(event, (progress) => this.#skip(progress, payload.reason as SkipReason, atMs))
        break
      case 'runner_lost':
        // Lost while it paused: nobody knows how far it came with telling of its waits.
        if (this.#isPaused) this.#announced.clear()
        this.closeOpenAttempts(atMs)
        break
      case 'run_released':
        this.closeOpenAttempts(atMs)
        break
      case 'run_retried':
        this.#retry(atMs)
        break
      case 'run_paused':
        this.#isPaused = true
        for (const node of (payload.nodes ?? []) as readonly string[]) this.#announced.add(node)
        break
      case 'run_resumed':
        this.#isPaused = false
        break
      case 'variable':
        this.variables.set(String(payload.key), payload.value ?? null)
        break
      case 'phase':
        this.phase = String(payload.phase)
        break
      // How a run ended is in its record, and follows from its nodes.
      case 'run_completed':
      case 'run_failed':
      case 'run_cancelled':
        break
    }
  }

  /** The attempts that are open belong to nobody any more: they count, and run again while the budget lasts. */
  closeOpenAttempts(atMs: number): void {
    for (const progress of this.#steps.values()) progress.closeOpenAttempts(atMs)
  }

  /**
   * The next change that has to be written, parents before children; undefined when everything that follows from the events
   * is among them. A run neither ends nor starts tasks before that, which is why a step below a skip that cascades is never
   * started by its other parent.
   */
  nextTransition(): Transition | undefined {
    for (const progress of this.#steps.values()) {
      if (progress.transition !== undefined) return progress.transition
      for (const index of progress.stalled) {
        if (progress.status !== 'started') break
        const { attempts, forgiven } = progress.tasks[index]!
        const failure = stalled(attempts - forgiven)
        return { kind: 'fail', stepSlug: progress.step.slug, index, attempt: attempts, failure }
      }
    }
    return undefined
  }

  /** How the run ends, once it does. Ask after {@link nextTransition}. */
  outcome(): RunOutcome | undefined {
    if (!this.isStarted) return undefined
    if (this.#failedSteps > 0) {
      const failed = this.#all().find((progress) => progress.status === 'failed')!
      return { status: 'error', stepSlug: failed.step.slug, failure: failed.failure! }
    }
    return this.#openSteps === 0 ? { status: 'success', output: this.#output() } : undefined
  }

  /** Takes the next task that is due, steps in order; `mayTake` says which steps may have one more. */
  takeReady(nowMs: number, mayTake: (step: PlannedStep) => boolean): ReadyTask | undefined {
    for (const progress of this.#steps.values()) {
      if (!progress.hasReadyTasks || !mayTake(progress.step)) continue
      const index = progress.takeDue(nowMs)
      if (index !== undefined) return readyTask(progress, index)
    }
    return undefined
  }

  /** All tasks that are due, in the order of steps and elements; for schedules that choose. */
  readyTasks(nowMs: number): readonly ReadyTask[] {
    return this.#all().flatMap((progress) => progress.dueTasks(nowMs).map((index) => readyTask(progress, index)))
  }

  take({ step, index }: ReadyTask): void {
    this.#progress(step.slug)?.take(index)
  }

  /** When the earliest queued task of the steps that may have one more is due. Undefined: there is none. */
  nextDueMs(mayTake: (step: PlannedStep) => boolean): number | undefined {
    const due = this.#all().flatMap((progress) => (mayTake(progress.step) ? (progress.nextDueMs() ?? []) : []))
    return due.length === 0 ? undefined : Math.min(...due)
  }

  /** Whether the step still takes outcomes of its tasks. */
  isOpen(stepSlug: string): boolean {
    const progress = this.#progress(stepSlug)
    return progress?.status === 'started' && progress.transition === undefined
  }

  /** Waits that stand open, and whether somebody may have been told of them. */
  openWaits(): readonly OpenWait[] {
    return this.#all()
      .filter(({ step, status, transition }) => isWait(step) && status === 'started' && transition === undefined)
      .map(({ step, tasks: [task] }) => {
        const wasEntered = task!.status === 'started'
        const attempt = task!.attempts + (wasEntered ? 0 : 1)
        return { step, attempt, wasEntered, wasAnnounced: this.#announced.has(step.slug) }
      })
  }

  /** Attempts of a task that count against its budget. */
  countedAttempts({ step, index }: Pick<ReadyTask, 'step' | 'index'>): number {
    const task = this.#progress(step.slug)?.tasks[index]
    return task === undefined ? 0 : task.attempts - task.forgiven
  }

  /** What the handler of a task gets: the run's input, an element, or the outputs of completed dependencies. */
  taskInput({ step, index }: Pick<ReadyTask, 'step' | 'index'>): Json {
    if (step.stepType === 'map') return (this.#mapSource(step) as readonly Json[])[index] ?? null
    return step.dependencies.length === 0 ? this.input : this.#dependencyOutputs(step)
  }

  snapshot(): readonly StepSnapshot[] {
    return this.#all().map(({ step, status, skipReason, output, failure, tasks }) => ({
      slug: step.slug,
      status,
      skipReason: skipReason ?? null,
      output: output ?? null,
      failure: failure ?? null,
      attempts: tasks.map((task) => task.attempts),
    }))
  }

  #start(atMs: number): void {
    if (this.isStarted) return
    this.#startedAtMs = atMs
    for (const progress of this.#steps.values()) {
      progress.readyAtMs = atMs
      if (progress.remainingDeps === 0) this.#judge(progress)
    }
  }

  #onTask(event: StateEvent, change: (progress: StepProgress, index: number) => void): void {
    const { stepSlug, index = 0 } = parseNodeId(event.nodeId ?? '')
    const progress = this.#progress(stepSlug)
    if (progress !== undefined) change(progress, index)
  }

  #onComplete(event: StateEvent, output: Json): void {
    const { stepSlug, index } = parseNodeId(event.nodeId ?? '')
    const progress = this.#progress(stepSlug)
    if (progress === undefined || progress.isEnded) return
    const isMap = progress.step.stepType === 'map'
    if (isMap && index === undefined) {
      this.#complete(progress, output, event.atMs)
    } else if (progress.onComplete(index ?? 0, output) && progress.remainingTasks === 0) {
      this.#complete(progress, isMap ? progress.tasks.map((task) => task.output) : output, event.atMs)
    }
  }

  #onError(event: StateEvent, attempt: number, failure: RunFailure): void {
    const { stepSlug, index } = parseNodeId(event.nodeId ?? '')
    const progress = this.#progress(stepSlug)
    if (progress === undefined || progress.isEnded) return
    // Before it has tasks a step fails by its condition or input, and its run with it.
    if (progress.status !== 'created' && !progress.onError(index ?? 0, attempt)) return
    if (progress.status === 'created' || progress.step.whenExhausted === 'fail' || isTypeViolation(failure)) {
      this.#fail(progress, failure)
      return
    }
    progress.failure ??= failure
    progress.transition ??= { kind: 'skip', stepSlug, reason: 'handler_failed' }
  }

  #complete(progress: StepProgress, output: Json, atMs: number): void {
    progress.status = 'completed'
    progress.output = output
    this.#end(progress, atMs)
  }

  #skip(progress: StepProgress, reason: SkipReason, atMs: number): void {
    if (progress.isEnded) return
    progress.status = 'skipped'
    progress.skipReason = reason
    this.#end(progress, atMs)
  }

  /** The run does not survive it, so nothing is released: dependents stay as they are. */
  #fail(progress: StepProgress, failure: RunFailure): void {
    progress.status = 'failed'
    progress.failure = failure
    progress.transition = undefined
    this.#failedSteps++
  }

  #end(progress: StepProgress, atMs: number): void {
    progress.transition = undefined
    this.#openSteps--
    const cascades = doesCascade(progress)
    for (const slug of progress.step.dependents) {
      const dependent = this.#steps.get(slug)!
      dependent.remainingDeps--
      dependent.readyAtMs = Math.max(dependent.readyAtMs, atMs)
      if (dependent.status !== 'created' || dependent.transition !== undefined) continue
      if (cascades) dependent.transition = { kind: 'skip', stepSlug: slug, reason: 'dependency_skipped' }
      else if (dependent.remainingDeps === 0) this.#judge(dependent)
    }
  }

  /** All its dependencies have ended: by its condition the step starts, or has to change. */
  #judge(progress: StepProgress): void {
    const { step } = progress
    const stepSlug = step.slug
    const source = step.stepType === 'map' ? this.#mapSource(step) : undefined
    if (source !== undefined && !Array.isArray(source)) {
      const failure = inputViolation(this.plan.flowSlug, source)
      progress.transition = { kind: 'fail', stepSlug, index: undefined, attempt: 0, failure }
    } else if (!this.#meetsCondition(step)) {
      progress.transition =
        step.whenUnmet === 'fail'
          ? { kind: 'fail', stepSlug, index: undefined, attempt: 0, failure: conditionUnmet() }
          : { kind: 'skip', stepSlug, reason: 'condition_unmet' }
    } else if (source?.length === 0) {
      progress.transition = { kind: 'complete', stepSlug, output: [] }
    } else {
      progress.begin(source?.length ?? 1)
    }
  }

  #meetsCondition(step: PlannedStep): boolean {
    if (step.required === undefined && step.forbidden === undefined) return true
    const input = step.dependencies.length === 0 ? this.input : this.#dependencyOutputs(step)
    if (step.required !== undefined && !contains(input, step.required)) return false
    return step.forbidden === undefined || !contains(input, step.forbidden)
  }

  #retry(atMs: number): void {
    this.#announced.clear()
    for (const progress of this.#steps.values()) {
      if (progress.status === 'failed') this.#failedSteps--
      else if (progress.status !== 'started') continue
      if (progress.tasks.length > 0) {
        progress.restart(atMs)
      } else {
        // It was refused by its condition, which is asked again.
        progress.status = 'created'
        progress.failure = undefined
        progress.readyAtMs = atMs
        this.#judge(progress)
      }
    }
  }

  /** The outputs of completed dependencies; a skipped one is absent, not null. */
  #dependencyOutputs(step: PlannedStep): JsonObject {
    return Object.fromEntries(
      step.dependencies
        .map((slug) => this.#steps.get(slug)!)
        .filter((dependency) => dependency.status === 'completed')
        .map((dependency) => [dependency.step.slug, dependency.output ?? null]),
    )
  }

  /** What a map goes over. A skipped dependency is nothing to go over. */
  #mapSource(step: PlannedStep): Json {
    const [dependency] = step.dependencies
    if (dependency === undefined) return this.input
    const progress = this.#steps.get(dependency)!
    return progress.status === 'completed' ? (progress.output ?? []) : []
  }

  #output(): JsonObject {
    const leaves = this.#all().filter(({ step, status }) => step.dependents.length === 0 && status === 'completed')
    return Object.fromEntries(leaves.map(({ step, output }) => [step.slug, output ?? null]))
  }

  #progress(slug: string): StepProgress | undefined {
    return this.#steps.get(slug)
  }

  #all(): StepProgress[] {
    return [...this.#steps.values()]
  }
}

function readyTask(progress: StepProgress, index: number): ReadyTask {
  return { step: progress.step, index, attempt: progress.tasks[index]!.attempts + 1 }
}

function isWait(step: PlannedStep): boolean {
  return step.stepType === 'wait'
}

function doesCascade({ step, status, skipReason }: StepProgress): boolean {
  if (status !== 'skipped') return false
  if (skipReason === 'dependency_skipped') return true
  return (skipReason === 'condition_unmet' ? step.whenUnmet : step.whenExhausted) === 'skip-cascade'
}

import type { Json, JsonObject } from '@starflow/dsl'
import type { StepSketch } from './shape.ts'

/** What the model needs to know of a step: its sketch, its place and who depends on it. */
interface StepRules extends StepSketch {
  readonly slug: string
  readonly after: readonly string[]
  readonly dependents: readonly string[]
  readonly feedsMap: boolean
  readonly maxAttempts: number
}

export interface ModelStep {
  status: 'created' | 'started' | 'completed' | 'skipped' | 'failed'
  skipReason: 'condition_unmet' | 'dependency_skipped' | 'handler_failed' | null
  remainingDeps: number
  remainingTasks: number | null
  output: Json
}

export interface ModelTask {
  readonly stepSlug: string
  readonly taskIndex: number
  status: 'queued' | 'started' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'cancelled'
  attempts: number
  forgiven: number
  requeued: number
  worker: string | null
  output: Json
  /** Seconds since the claim. */
  age: number
  /** Seconds for which the message is still hidden; at most 0: a claim sees it. */
  hidden: number
  /** Seconds until its retry is due, which its run's end and retry do not change; at most 0: it has none, or it is due. */
  delay: number
  /** Seconds until a wait times out; null: never, and for every task that is none. */
  due: number | null
  /** What the database chose when it sent the message; `null` until it was looked up. */
  messageId: string | null
  /** Why each attempt that did not complete ended. */
  readonly history: Map<number, string>
}

export interface ModelReport {
  readonly worker: string
  readonly stepSlug: string
  readonly taskIndex: number
  readonly attempt: number
  readonly outcome:
    | { readonly status: 'completed'; readonly output: Json }
    | { readonly status: 'failed'; readonly permanent: boolean; readonly delay: number }
}

/** One timeout for all: steps of a second in a test cannot move a task across a limit by themselves. */
export const TIMEOUT_SECONDS = 1000
const CLAIM_SECONDS = TIMEOUT_SECONDS + 2
const BOUNDARY_SECONDS = TIMEOUT_SECONDS + 30
const LEFT_SECONDS = 5
/** That of every wait which has one. */
export const WAIT_SECONDS = 600
/** What the setting max_requeues must be: below what the attempts allow, so that it matters. */
export const MAX_REQUEUES = 1

/** The rules of a flow, from its sketch. */
export function rulesOf(steps: Readonly<Record<string, StepSketch>>): ReadonlyMap<string, StepRules> {
  const entries = Object.entries(steps)
  return new Map(
    entries.map(([slug, sketch]) => {
      const dependents = entries.filter(([, other]) => other.after?.includes(slug)).map(([other]) => other)
      const rules: StepRules = {
        ...sketch,
        slug,
        after: sketch.after ?? [],
        dependents,
        feedsMap: sketch.map !== true && dependents.some((other) => steps[other]!.map === true),
        maxAttempts: sketch.maxAttempts ?? 3,
      }
      return [slug, rules]
    }),
  )
}

/**
 * What a run is to do, told as plainly as it can be: one run, one thing at a time, no sets and no locks. Written from the
 * design, not from the SQL.
 */
export class RunModel {
  status: 'started' | 'completed' | 'failed' | 'cancelled' = 'started'
  output: Json = null
  remainingSteps: number
  readonly steps = new Map<string, ModelStep>()
  readonly tasks: ModelTask[] = []
  /** Payloads that came before their wait opened. */
  readonly early = new Map<string, Json>()
  readonly #rules: ReadonlyMap<string, StepRules>
  readonly #input: Json

  constructor(rules: ReadonlyMap<string, StepRules>, input: Json) {
    this.#rules = rules
    this.#input = input
    this.remainingSteps = rules.size
    for (const { slug, after } of rules.values()) {
      this.steps.set(slug, {
        status: 'created',
        skipReason: null,
        remainingDeps: after.length,
        remainingTasks: null,
        output: null,
      })
    }
    this.#advance([], [])
  }

  task(stepSlug: string, taskIndex: number): ModelTask | undefined {
    return this.tasks.find((task) => task.stepSlug === stepSlug && task.taskIndex === taskIndex)
  }

  /** A claim has read the message of this task. `isBesideOthers` matters to one that stalled. */
  read(task: ModelTask, worker: string, isBesideOthers: boolean): 'claimed' | 'recovered' | 'exhausted' | 'running' {
    if (task.status === 'queued') {
      task.status = 'started'
      task.attempts += 1
      task.worker = worker
      task.age = 0
      task.hidden = CLAIM_SECONDS
      return 'claimed'
    }
    if (task.age <= BOUNDARY_SECONDS) {
      task.hidden = BOUNDARY_SECONDS - task.age
      return 'running'
    }
    if (!this.#mayRunAgain(task, isBesideOthers)) {
      task.hidden = LEFT_SECONDS
      return 'exhausted'
    }
    this.#requeue(task, isBesideOthers)
    return 'recovered'
  }

  /** Reports of one call that concern this run. Answers which were accepted, in order. */
  settle(reports: readonly ModelReport[]): boolean[] {
    const accepted = reports.map(() => false)
    const ended: string[] = []
    const failed: string[] = []
    // Completions of a call come before failures.
    for (const status of ['completed', 'failed'] as const) {
      for (const [position, report] of reports.entries()) {
        if (report.outcome.status !== status) continue
        const task = this.#heldBy(report)
        if (task === undefined) continue
        accepted[position] = true
        if (report.outcome.status === 'completed') this.#complete(task, report.outcome.output, ended, failed)
        else {
          const isFinal = report.outcome.permanent || !this.#hasAttemptsLeft(task)
          task.history.set(task.attempts, 'failed')
          task.status = isFinal ? 'failed' : 'queued'
          task.delay = isFinal ? 0 : report.outcome.delay
          task.hidden = report.outcome.delay
        }
      }
    }
    // Only now: one failure of a map does not refuse another one that came with it.
    this.#exhaust(ended, failed)
    this.#advance(ended, failed)
    return accepted
  }

  /** Gives a task back that was claimed but not begun. */
  release(report: ModelReport): boolean {
    const task = this.#heldBy(report)
    if (task === undefined) return false
    task.history.set(task.attempts, 'released')
    task.forgiven += 1
    task.status = 'queued'
    task.hidden = 0
    return true
  }

  /** A payload for a wait, and what becomes of it. */
  resume(stepSlug: string, payload: Json): string {
    const step = this.steps.get(stepSlug)!
    const task = this.task(stepSlug, 0)
    if (this.#rules.get(stepSlug)!.feedsMap && !Array.isArray(payload)) return 'SF203'
    if (step.status === 'completed') return 'already_resumed'
    if (task?.status === 'failed' || step.skipReason === 'handler_failed') return 'timed_out'
    if (step.status === 'skipped') return 'skipped'
    if (this.status !== 'started') return 'run_ended'
    if (this.early.has(stepSlug)) return 'already_resumed'
    if (task === undefined) {
      this.early.set(stepSlug, payload)
      return 'early'
    }
    if (isDue(task)) {
      this.expire()
      return 'timed_out'
    }
    const ended: string[] = []
    this.#complete(task, payload, ended, [])
    this.#advance(ended, [])
    return 'accepted'
  }

  /** The pass of recovery, first part: waits that are due end. */
  expire(): void {
    const ended: string[] = []
    const failed: string[] = []
    for (const task of this.tasks) if (isDue(task)) task.status = 'failed'
    this.#exhaust(ended, failed)
    this.#advance(ended, failed)
  }

  get stalled(): ModelTask[] {
    return this.tasks.filter((task) => task.status === 'started' && task.age > BOUNDARY_SECONDS)
  }

  /** Second part: stalled tasks are put back or end. Answers how many were put back. */
  recover(isBesideOthers: (task: ModelTask) => boolean): number {
    const { stalled } = this
    const beside = new Set(stalled.filter(isBesideOthers))
    const ending = stalled.filter((task) => !this.#mayRunAgain(task, beside.has(task)))
    const ended: string[] = []
    const failed: string[] = []
    for (const task of ending) {
      task.history.set(task.attempts, 'stalled')
      task.status = 'failed'
    }
    this.#exhaust(ended, failed)
    this.#advance(ended, failed)
    const again = stalled.filter((task) => task.status === 'started')
    for (const task of again) this.#requeue(task, beside.has(task))
    return again.length
  }

  cancel(): void {
    if (this.status !== 'started') return
    this.status = 'cancelled'
    this.#endTasks(() => true, 'cancelled')
  }

  retry(): void {
    if (this.status !== 'failed' && this.status !== 'cancelled') return
    this.status = 'started'
    this.remainingSteps = 0
    for (const [slug, step] of this.steps) {
      if (step.status === 'completed' || step.status === 'skipped') continue
      this.remainingSteps += 1
      const tasks = this.tasks.filter((task) => task.stepSlug === slug)
      if (tasks.length === 0) {
        // It failed its condition, or it had just become ready when the run ended: from the beginning.
        step.status = 'created'
        step.remainingTasks = null
        continue
      }
      step.status = 'started'
      const open = tasks.filter((task) => task.status !== 'completed')
      step.remainingTasks = open.length
      for (const task of open) {
        task.status = this.#isWait(slug) ? 'waiting' : 'queued'
        task.due = this.#timeout(slug)
        task.forgiven = task.attempts
        task.requeued = 0
        task.output = null
        task.messageId = null
        task.hidden = task.delay
      }
    }
    this.#advance([], [])
  }

  /** Lets time go by for this run alone. */
  pass(seconds: number): void {
    for (const task of this.tasks) {
      task.age += seconds
      task.hidden -= seconds
      task.delay -= seconds
      if (task.due !== null) task.due -= seconds
    }
  }

  hasOpenMessage(task: ModelTask): boolean {
    return task.status === 'queued' || task.status === 'started'
  }

  #isWait(stepSlug: string): boolean {
    return this.#rules.get(stepSlug)!.wait === true
  }

  #timeout(stepSlug: string): number | null {
    return (this.#isWait(stepSlug) && this.#rules.get(stepSlug)!.timeout) || null
  }

  #heldBy(report: ModelReport): ModelTask | undefined {
    const task = this.task(report.stepSlug, report.taskIndex)
    const isCurrent = task?.status === 'started' && task.attempts === report.attempt && task.worker === report.worker
    return isCurrent ? task : undefined
  }

  #complete(task: ModelTask, output: Json, ended: string[], failed: string[]): void {
    const rules = this.#rules.get(task.stepSlug)!
    const step = this.steps.get(task.stepSlug)!
    task.status = 'completed'
    task.output = output
    step.remainingTasks! -= 1
    if (rules.feedsMap && !Array.isArray(output)) {
      task.status = 'failed'
      task.history.set(task.attempts, 'type_violation')
      failed.push(task.stepSlug)
    } else if (step.remainingTasks === 0) {
      step.status = 'completed'
      step.output =
        rules.map === true
          ? this.tasks
              .filter((other) => other.stepSlug === task.stepSlug)
              .sort((a, b) => a.taskIndex - b.taskIndex)
              .map((other) => other.output)
          : output
      ended.push(task.stepSlug)
    }
  }

  /** Steps with a task that has ended as failed: the run fails, or the step is skipped. */
  #exhaust(ended: string[], failed: string[]): void {
    for (const [slug, step] of this.steps) {
      if (step.status !== 'started' || failed.includes(slug)) continue
      if (!this.tasks.some((task) => task.stepSlug === slug && task.status === 'failed')) continue
      if ((this.#rules.get(slug)!.whenExhausted ?? 'fail') === 'fail') {
        failed.push(slug)
        continue
      }
      step.status = 'skipped'
      step.skipReason = 'handler_failed'
      step.remainingTasks = null
      this.#endTasks((task) => task.stepSlug === slug, 'skipped')
      ended.push(slug)
    }
  }

  /** Carries the run on: first all that follows from what has ended, then its failure, or its tasks and its end. */
  #advance(ended: readonly string[], failed: readonly string[]): void {
    if (this.status !== 'started') return
    const queue = [...ended]
    const broken = [...failed]
    const end = (slug: string) => {
      const rules = this.#rules.get(slug)!
      const { skipReason } = this.steps.get(slug)!
      const cascades =
        (skipReason === 'condition_unmet' && rules.whenUnmet === 'skip-cascade') ||
        (skipReason === 'handler_failed' && rules.whenExhausted === 'skip-cascade')
      if (cascades) this.#skipBelow(slug)
      for (const dependent of rules.dependents) {
        const step = this.steps.get(dependent)!
        if (step.status === 'created') step.remainingDeps -= 1
      }
    }
    for (;;) {
      for (let slug = queue.shift(); slug !== undefined; slug = queue.shift()) end(slug)
      const ready = [...this.steps].find(
        ([slug, step]) => step.status === 'created' && step.remainingDeps === 0 && !broken.includes(slug),
      )
      if (ready === undefined) break
      const [slug, step] = ready
      const rules = this.#rules.get(slug)!
      if (!isMet(rules, rules.after.length === 0 ? this.#input : this.#inputOf(rules))) {
        if (rules.whenUnmet === 'fail') {
          step.status = 'failed'
          broken.push(slug)
        } else {
          step.status = 'skipped'
          step.skipReason = 'condition_unmet'
          queue.push(slug)
        }
        continue
      }
      if (rules.wait === true) {
        // At once, whatever becomes of the run: a wait costs nothing that would have to be taken back.
        const task: ModelTask = { ...newTask(slug, 0), status: 'waiting', due: this.#timeout(slug) }
        this.tasks.push(task)
        step.status = 'started'
        step.remainingTasks = 1
        if (this.early.has(slug)) {
          this.#complete(task, this.early.get(slug)!, queue, broken)
          this.early.delete(slug)
        }
        continue
      }
      const count = rules.map === true ? this.#elements(rules).length : 1
      step.remainingTasks = count
      step.status = count === 0 ? 'completed' : 'started'
      if (count === 0) {
        step.output = []
        queue.push(slug)
      }
    }

    if (broken.length > 0) {
      for (const slug of broken) this.steps.get(slug)!.status = 'failed'
      this.status = 'failed'
      this.#endTasks(() => true, 'cancelled')
      return
    }
    for (const [slug, step] of this.steps) {
      if (step.status !== 'started' || this.tasks.some((task) => task.stepSlug === slug)) continue
      for (let index = 0; index < step.remainingTasks!; index++) this.tasks.push(newTask(slug, index))
    }
    this.remainingSteps = [...this.steps.values()].filter(
      (step) => step.status !== 'completed' && step.status !== 'skipped',
    ).length
    if (this.remainingSteps > 0) return
    this.status = 'completed'
    this.output = Object.fromEntries(
      [...this.steps]
        .filter(([slug, step]) => step.status === 'completed' && this.#rules.get(slug)!.dependents.length === 0)
        .map(([slug, step]) => [slug, step.output]),
    )
  }

  #skipBelow(slug: string): void {
    for (const dependent of this.#rules.get(slug)!.dependents) {
      const step = this.steps.get(dependent)!
      if (step.status === 'created') {
        step.status = 'skipped'
        step.skipReason = 'dependency_skipped'
      }
      this.#skipBelow(dependent)
    }
  }

  #inputOf(rules: StepRules): JsonObject {
    const completed = rules.after.filter((slug) => this.steps.get(slug)!.status === 'completed')
    return Object.fromEntries(completed.map((slug) => [slug, this.steps.get(slug)!.output]))
  }

  #elements(rules: StepRules): readonly Json[] {
    const source = rules.after.length === 0 ? this.#input : this.steps.get(rules.after[0]!)!.output
    return (source ?? []) as Json[]
  }

  #endTasks(isMeant: (task: ModelTask) => boolean, status: 'skipped' | 'cancelled'): void {
    for (const task of this.tasks) {
      if (!isMeant(task) || !(this.hasOpenMessage(task) || task.status === 'waiting')) continue
      if (task.status === 'started') task.history.set(task.attempts, status)
      task.status = status
    }
  }

  #requeue(task: ModelTask, isForgiven: boolean): void {
    task.history.set(task.attempts, 'stalled')
    task.status = 'queued'
    task.requeued += 1
    task.forgiven += isForgiven ? 1 : 0
    task.hidden = 0
  }

  #hasAttemptsLeft(task: ModelTask, moreForgiven = 0): boolean {
    return task.attempts - task.forgiven - moreForgiven < this.#rules.get(task.stepSlug)!.maxAttempts
  }

  /** What stalled beside others may not have been the cause: it keeps its attempt. A task with one attempt never runs twice. */
  #mayRunAgain(task: ModelTask, isBesideOthers: boolean): boolean {
    return (
      task.requeued < MAX_REQUEUES &&
      this.#rules.get(task.stepSlug)!.maxAttempts > 1 &&
      this.#hasAttemptsLeft(task, isBesideOthers ? 1 : 0)
    )
  }
}

function newTask(stepSlug: string, taskIndex: number): ModelTask {
  return {
    stepSlug,
    taskIndex,
    status: 'queued',
    attempts: 0,
    forgiven: 0,
    requeued: 0,
    worker: null,
    output: null,
    age: 0,
    hidden: 0,
    delay: 0,
    due: null,
    messageId: null,
    history: new Map(),
  }
}

function isDue(task: ModelTask): boolean {
  return task.status === 'waiting' && task.due !== null && task.due <= 0
}

function isMet(rules: StepRules, input: Json): boolean {
  return (
    (rules.if === undefined || contains(input, rules.if)) &&
    (rules.ifNot === undefined || !contains(input, rules.ifNot))
  )
}

/** jsonb containment, for patterns that are objects at the top. */
function contains(value: Json | undefined, pattern: Json): boolean {
  if (Array.isArray(pattern)) {
    return Array.isArray(value) && pattern.every((wanted) => value.some((element) => contains(element, wanted)))
  }
  if (pattern !== null && typeof pattern === 'object') {
    if (value === undefined || value === null || typeof value !== 'object' || Array.isArray(value)) return false
    const object = value as JsonObject
    return Object.entries(pattern as JsonObject).every(([key, wanted]) => contains(object[key] as Json, wanted as Json))
  }
  return value === pattern
}

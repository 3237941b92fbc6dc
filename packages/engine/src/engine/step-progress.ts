import type { Json } from '@starflow/dsl'
import type { RunFailure } from '../run-record.ts'
import type { SkipReason } from '../state-adapter.ts'
import { DueQueue } from './due-queue.ts'
import type { PlannedStep } from './flow-plan.ts'

/** As in the SQL core: `created` waits for its dependencies, `started` has tasks; the others are ends. */
export type StepStatus = 'created' | 'started' | 'completed' | 'skipped' | 'failed'

/** `taken`: chosen to run, but its start is not written yet. */
export type TaskStatus = 'queued' | 'taken' | 'started' | 'completed' | 'failed'

export interface TaskProgress {
  status: TaskStatus
  /** Attempts that were started; never decreases. */
  attempts: number
  /** Of these, the ones before a retry of the whole run: they are no part of the budget. */
  forgiven: number
  /** When it is due again; meaningless before its first attempt. */
  dueAtMs: number
  output: Json
}

/** A step has to change in a way that only follows from what happened; it has changed when the event of it is written. */
export type Transition =
  | { readonly kind: 'skip'; readonly stepSlug: string; readonly reason: SkipReason }
  /** A map over nothing. */
  | { readonly kind: 'complete'; readonly stepSlug: string; readonly output: Json }
  | {
      readonly kind: 'fail'
      readonly stepSlug: string
      /** Of the task that failed; undefined where the step failed before it had any. */
      readonly index: number | undefined
      readonly attempt: number
      readonly failure: RunFailure
    }

/** One step of one run: its tasks, and which of them can run. Knows nothing of other steps. */
export class StepProgress {
  readonly step: PlannedStep
  status: StepStatus = 'created'
  skipReason: SkipReason | undefined
  remainingDeps: number
  /** When the last dependency ended. */
  readyAtMs = 0
  output: Json | undefined
  failure: RunFailure | undefined
  tasks: TaskProgress[] = []
  remainingTasks = 0
  /** What follows for the step as a whole. */
  transition: Transition | undefined
  /** Tasks whose last attempt was cut off and who have none left. */
  readonly stalled = new Set<number>()
  /** Tasks before this one have been taken; those after it are as they were made. */
  #firstFresh = 0
  readonly #again = new DueQueue(({ index, dueAtMs }) => {
    const task = this.tasks[index]
    return task?.status === 'queued' && task.dueAtMs === dueAtMs
  })

  constructor(step: PlannedStep) {
    this.step = step
    this.remainingDeps = step.dependencies.length
  }

  get isEnded(): boolean {
    return this.status === 'completed' || this.status === 'skipped' || this.status === 'failed'
  }

  get hasReadyTasks(): boolean {
    return this.status === 'started' && this.transition === undefined && this.step.stepType !== 'wait'
  }

  begin(taskCount: number): void {
    this.status = 'started'
    this.remainingTasks = taskCount
    this.tasks = Array.from({ length: taskCount }, () => ({
      status: 'queued',
      attempts: 0,
      forgiven: 0,
      dueAtMs: 0,
      output: null,
    }))
  }

  /** When the earliest queued task is due; undefined when none is queued. */
  nextDueMs(): number | undefined {
    if (!this.hasReadyTasks) return undefined
    const again = this.#again.first()?.dueAtMs
    if (this.#firstFresh >= this.tasks.length) return again
    return Math.min(this.#freshDueMs, again ?? Number.POSITIVE_INFINITY)
  }

  /** Takes the next task that is due: retries first, since they are the older ones. */
  takeDue(nowMs: number): number | undefined {
    if (!this.hasReadyTasks) return undefined
    const index = this.#again.takeDue(nowMs) ?? this.#takeFresh(nowMs)
    if (index !== undefined) this.tasks[index]!.status = 'taken'
    return index
  }

  /** All tasks that are due, by index; for schedules that choose among them. */
  dueTasks(nowMs: number): readonly number[] {
    if (!this.hasReadyTasks) return []
    const due = this.#again.due(nowMs)
    if (this.#freshDueMs <= nowMs) {
      for (let index = this.#firstFresh; index < this.tasks.length; index++) {
        if (this.tasks[index]!.attempts === 0 && this.tasks[index]!.status === 'queued') due.push(index)
      }
    }
    return [...new Set(due)].sort((a, b) => a - b)
  }

  /** Takes this one. */
  take(index: number): void {
    this.tasks[index]!.status = 'taken'
    this.#skipTaken()
  }

  onStart(index: number, attempt: number): void {
    const task = this.tasks[index]
    if (task === undefined || this.status !== 'started' || task.status === 'completed') return
    task.status = 'started'
    task.attempts = Math.max(task.attempts, attempt)
    this.#skipTaken()
  }

  /** True when the task has just completed. */
  onComplete(index: number, output: Json): boolean {
    const task = this.tasks[index]
    if (task === undefined || this.status !== 'started' || task.status === 'completed') return false
    this.stalled.delete(index)
    task.status = 'completed'
    task.output = output
    this.remainingTasks--
    this.#skipTaken()
    return true
  }

  onRetry(index: number, attempt: number, dueAtMs: number): void {
    const task = this.tasks[index]
    if (task === undefined || this.status !== 'started' || task.status === 'completed') return
    task.attempts = Math.max(task.attempts, attempt)
    this.#queueAgain(index, dueAtMs)
  }

  onError(index: number, attempt: number): boolean {
    const task = this.tasks[index]
    if (task === undefined || this.status !== 'started' || task.status === 'completed') return false
    this.stalled.delete(index)
    task.status = 'failed'
    task.attempts = Math.max(task.attempts, attempt)
    return true
  }

  /** Whoever ran them is gone: open attempts count, and run again while the budget lasts. */
  closeOpenAttempts(atMs: number): void {
    if (this.status !== 'started' || this.step.stepType === 'wait') return
    for (const [index, task] of this.tasks.entries()) {
      if (task.status === 'taken' || (task.status === 'started' && this.#hasBudget(task))) this.#queueAgain(index, atMs)
      else if (task.status === 'started') this.stalled.add(index)
    }
  }

  /**
   * The run starts again: what did not complete does, with a fresh budget; what had not begun has its start delay before it, and a
   * retry that was due later still is.
   */
  restart(atMs: number): void {
    this.status = 'started'
    this.readyAtMs = atMs
    this.failure = undefined
    this.transition = undefined
    this.stalled.clear()
    for (const [index, task] of this.tasks.entries()) {
      task.forgiven = task.attempts
      const isFresh = task.status === 'queued' && task.attempts === 0
      if (isFresh || task.status === 'completed') continue
      this.#queueAgain(index, task.status === 'queued' ? Math.max(atMs, task.dueAtMs) : atMs)
    }
    this.remainingTasks = this.tasks.filter((task) => task.status !== 'completed').length
  }

  #hasBudget(task: TaskProgress): boolean {
    return task.attempts - task.forgiven < this.step.maxAttempts
  }

  #queueAgain(index: number, dueAtMs: number): void {
    const task = this.tasks[index]!
    task.status = 'queued'
    task.dueAtMs = dueAtMs
    this.#again.push({ index, dueAtMs })
    this.#skipTaken()
  }

  get #freshDueMs(): number {
    return this.readyAtMs + this.step.startDelaySeconds * 1000
  }

  #takeFresh(nowMs: number): number | undefined {
    if (this.#firstFresh >= this.tasks.length || this.#freshDueMs > nowMs) return undefined
    const index = this.#firstFresh++
    this.#skipTaken()
    return index
  }

  /** Fresh tasks are those that nothing has happened to; a log may have them end in any order. */
  #skipTaken(): void {
    while (this.#firstFresh < this.tasks.length) {
      const task = this.tasks[this.#firstFresh]!
      if (task.status === 'queued' && task.attempts === 0) return
      this.#firstFresh++
    }
  }
}

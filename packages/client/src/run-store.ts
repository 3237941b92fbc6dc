import type { AnyFlow } from '@starflow/dsl'
import { parseBroadcast, type RunBroadcast } from './broadcast.ts'
import type { FlowEvent } from './run-event.ts'
import {
  instant,
  type RunSnapshot,
  type RunState,
  type RunStatus,
  type StepState,
  type StepStatus,
} from './run-state.ts'
import { hasEnded, judgeRun, judgeStep, newerRun, newerStep } from './state-order.ts'

/** What is known of one run. It only ever moves towards what the database has; every change is told once. */
export class RunStore {
  #run: RunState
  #steps: ReadonlyMap<string, StepState> = new Map()
  #hasSteps = false
  readonly #onEvent: (event: FlowEvent<AnyFlow>) => void

  constructor(run: RunState, onEvent: (event: FlowEvent<AnyFlow>) => void) {
    this.#run = run
    this.#onEvent = onEvent
  }

  get run(): RunState {
    return this.#run
  }

  /** In the order of the flow. */
  get steps(): readonly StepState[] {
    return [...this.#steps.values()]
  }

  /** Whether the steps were ever read. */
  get hasSteps(): boolean {
    return this.#hasSteps
  }

  step(slug: string): StepState | undefined {
    return this.#steps.get(slug)
  }

  /** The run has ended, and so has every step that a completed run must have ended: nothing is missing any more. */
  get isSettled(): boolean {
    if (!hasEnded(this.#run.status) || !this.#hasSteps) return false
    return (
      this.#run.status !== 'completed' ||
      this.steps.every(({ status }) => status === 'completed' || status === 'skipped')
    )
  }

  /** Takes what a read says, and tells of what it changes: steps in their order, the run's end last. True: it changed something. */
  takeSnapshot({ run, steps }: RunSnapshot): boolean {
    const known = { run: this.#run, steps: this.#steps, hasSteps: this.#hasSteps }
    this.#run = newerRun(known.run, run)
    this.#steps = new Map(steps.map((step) => [step.stepSlug, newerStep(known.steps.get(step.stepSlug), step)]))
    this.#hasSteps = true
    // The first read of the steps tells where they are, not that they have just come there.
    const changedSteps = known.hasSteps
      ? this.steps.filter((step) => known.steps.get(step.stepSlug)?.status !== step.status)
      : []
    const isRunChanged = known.run.status !== this.#run.status
    if (isRunChanged && !hasEnded(this.#run.status)) this.#tellRun()
    for (const step of changedSteps) this.#tellStep(step)
    if (isRunChanged && hasEnded(this.#run.status)) this.#tellRun()
    return isRunChanged || changedSteps.length > 0
  }

  /** Takes what a broadcast says where that is certain. True: the database has to be asked. */
  takeBroadcast(payload: unknown): boolean {
    const broadcast = parseBroadcast(payload, this.#run.runId)
    if (broadcast === undefined) return false
    return broadcast.stepSlug === undefined ? this.#hearRun(broadcast) : this.#hearStep(broadcast.stepSlug, broadcast)
  }

  #hearRun({ status, isIncomplete, payload }: RunBroadcast): boolean {
    const judgement = judgeRun(this.#run.status, status as RunStatus)
    if (judgement !== 'take') return judgement === 'read'
    if (isIncomplete) return true
    this.#run = {
      ...this.#run,
      status: status as RunStatus,
      output: payload.output ?? null,
      completedAt: instant(payload.completed_at),
      failedAt: null,
      cancelledAt: null,
      cancelReason: null,
    }
    this.#tellRun()
    return !this.isSettled
  }

  #hearStep(stepSlug: string, { status, isIncomplete, payload }: RunBroadcast): boolean {
    const known = this.#steps.get(stepSlug)
    if (known === undefined) return true
    const judgement = judgeStep(known.status, status as StepStatus)
    if (judgement !== 'take') return judgement === 'read'
    if (isIncomplete) return true
    const step: StepState = {
      ...known,
      status: status as StepStatus,
      output: payload.output ?? null,
      errorMessage: (payload.error_message as string | undefined) ?? null,
      skipReason: (payload.skip_reason as StepState['skipReason'] | undefined) ?? null,
      startedAt: instant(payload.started_at) ?? known.startedAt,
      completedAt: instant(payload.completed_at),
      failedAt: null,
      skippedAt: instant(payload.skipped_at),
    }
    this.#steps = new Map(this.#steps).set(stepSlug, step)
    this.#tellStep(step)
    return false
  }

  #tellRun(): void {
    this.#onEvent(runEvent(this.#run))
  }

  #tellStep(step: StepState): void {
    if (step.status !== 'created') this.#onEvent(stepEvent(this.#run.runId, step))
  }
}

/** The event that tells of a run's status. */
export function runEvent(run: RunState): FlowEvent<AnyFlow> {
  const times = { started: run.startedAt, completed: run.completedAt, failed: run.failedAt, cancelled: run.cancelledAt }
  return {
    type: `run:${run.status}`,
    runId: run.runId,
    status: run.status,
    at: times[run.status] ?? run.startedAt,
    output: run.status === 'completed' ? run.output : null,
  } as FlowEvent<AnyFlow>
}

function stepEvent(runId: string, step: StepState): FlowEvent<AnyFlow> {
  const times = {
    created: null,
    started: step.startedAt,
    completed: step.completedAt,
    failed: step.failedAt,
    skipped: step.skippedAt,
  }
  return {
    type: `step:${step.status}`,
    runId,
    stepSlug: step.stepSlug,
    status: step.status,
    at: times[step.status],
    output: step.status === 'completed' ? step.output : null,
  } as FlowEvent<AnyFlow>
}

import type { Json } from '@starflow/dsl'
import { parseNodeId, type RunEvent } from '@starflow/engine'

/** `stopped`: it had begun, and its run ended before it did. */
export type StepState = 'to come' | 'running' | 'waiting' | 'done' | 'skipped' | 'failed' | 'stopped'

/** How far one step is. */
export interface StepProgress {
  readonly slug: string
  readonly isMap: boolean
  state: StepState
  /** Elements that are done; of a map only. */
  done: number
  /** Elements that there are; undefined while nobody can know. */
  total: number | undefined
  startedAt: number | undefined
  endedAt: number | undefined
  /** Of the last attempt that failed, or why it was skipped. */
  reason: string | undefined
}

interface StepPlan {
  readonly slug: string
  readonly stepType: string
  readonly dependencies: readonly string[]
}

/** How far a run is, by its events. With the shape of its flow also the steps to come and the sizes of maps are known. */
export class RunProgress {
  readonly #steps = new Map<string, StepProgress>()
  readonly #plan: ReadonlyMap<string, StepPlan>
  readonly #sizes = new Map<string, number>()
  readonly #inputSize: number | undefined

  constructor(shape?: { readonly steps: readonly StepPlan[] }, input?: Json) {
    this.#plan = new Map(shape?.steps.map((step) => [step.slug, step]))
    this.#inputSize = sizeOf(input)
    for (const slug of this.#plan.keys()) this.#step(slug)
  }

  get steps(): readonly StepProgress[] {
    return [...this.#steps.values()]
  }

  /** Returns the step that entered another state by it, if one did. */
  apply(event: RunEvent): StepProgress | undefined {
    if (event.type === 'run_retried') for (const step of this.#steps.values()) startAfresh(step)
    const end = ENDS.get(event.type)
    if (end !== undefined) for (const step of this.#steps.values()) endOpen(step, end, Date.parse(event.createdAt))
    if (event.nodeId === null) return undefined
    const { stepSlug, index } = parseNodeId(event.nodeId)
    const step = this.#step(stepSlug, index !== undefined)
    const before = step.state
    const at = Date.parse(event.createdAt)
    switch (event.type) {
      case 'node_start':
        step.state = this.#plan.get(stepSlug)?.stepType === 'wait' ? 'waiting' : 'running'
        step.startedAt ??= at
        step.total ??= this.#sizeOf(stepSlug)
        break
      case 'node_complete':
        if (index !== undefined) {
          step.done++
          // A map is done with its last element; an event of its own it has only when there is none.
          if (step.done !== step.total) break
        }
        step.state = 'done'
        step.endedAt = at
        this.#sizes.set(stepSlug, index === undefined ? (sizeOf(event.payload?.output) ?? 0) : step.done)
        break
      case 'node_retry':
        step.reason = messageOf(event)
        break
      case 'node_error':
        step.state = 'failed'
        step.endedAt = at
        step.reason = messageOf(event)
        break
      case 'node_skip':
        step.state = 'skipped'
        step.endedAt = at
        step.reason = String(event.payload?.reason ?? '').replaceAll('_', ' ')
        break
    }
    return step.state === before ? undefined : step
  }

  /** Steps that nothing has run of yet are first seen by their events where the shape is not known. */
  #step(slug: string, isElement = false): StepProgress {
    const known = this.#steps.get(slug)
    if (known !== undefined) return known
    const step: StepProgress = {
      ...{ slug, isMap: isElement || this.#plan.get(slug)?.stepType === 'map', state: 'to come', done: 0 },
      ...{ total: undefined, startedAt: undefined, endedAt: undefined, reason: undefined },
    }
    this.#steps.set(slug, step)
    return step
  }

  /** A map has an element for each of the step that it maps, or of the input. */
  #sizeOf(slug: string): number | undefined {
    const plan = this.#plan.get(slug)
    if (plan?.stepType !== 'map') return undefined
    const [mapped] = plan.dependencies
    return mapped === undefined ? this.#inputSize : this.#sizes.get(mapped)
  }
}

function sizeOf(value: Json | undefined): number | undefined {
  return Array.isArray(value) ? value.length : undefined
}

/** What becomes of a step that is open when its run ends: where that succeeded it is a map whose size nobody knew, and done. */
const ENDS: ReadonlyMap<RunEvent['type'], StepState> = new Map([
  ['run_completed', 'done'],
  ['run_failed', 'stopped'],
  ['run_cancelled', 'stopped'],
])

function endOpen(step: StepProgress, end: StepState, at: number): void {
  if (step.state !== 'running' && step.state !== 'waiting') return
  step.state = end
  step.endedAt = at
}

function startAfresh(step: StepProgress): void {
  if (step.state === 'done') return
  step.state = 'to come'
  step.reason = undefined
  step.startedAt = undefined
  step.endedAt = undefined
}

function messageOf({ payload }: RunEvent): string {
  const error = payload?.error
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : 'no reason was given'
}

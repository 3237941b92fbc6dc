import type { Json } from '@starflow/dsl'
import { parseNodeId, type RunEvent } from '@starflow/engine'
import type { StepState, StepView } from './run-placement.ts'

interface StepSketch {
  status: StepState
  attempts: number
  startedAt: string | null
  endedAt: string | null
  skipReason: string | null
  error: string | null
  output: Json
  readonly elements: Set<number>
  readonly completed: Set<number>
}

/** The states of a run's steps, as its event log tells them; in the order of `slugs`, with steps beyond them at the end. */
export function stepsOfRun(
  events: readonly RunEvent[],
  slugs: readonly string[],
  waits: ReadonlySet<string>,
): StepView[] {
  const steps = new Map<string, StepSketch>(slugs.map((slug) => [slug, untouched()]))
  for (const event of events) {
    if (event.type === 'run_retried') for (const step of steps.values()) reopen(step)
    if (event.nodeId === null) continue
    const { stepSlug, index } = parseNodeId(event.nodeId)
    const step = steps.get(stepSlug) ?? untouched()
    steps.set(stepSlug, step)
    apply(step, event, index)
    if (event.type === 'node_start' && waits.has(stepSlug)) step.status = 'waiting'
  }
  return [...steps].map(([slug, { elements, completed, ...step }]) => ({
    step: slug,
    ...step,
    tasks: elements.size === 0 ? null : { total: elements.size, completed: completed.size },
  }))
}

function apply(step: StepSketch, event: RunEvent, index: number | undefined): void {
  const payload = event.payload ?? {}
  if (index !== undefined) step.elements.add(index)
  switch (event.type) {
    case 'node_start':
      step.status = 'started'
      step.startedAt ??= event.createdAt
      step.attempts = Math.max(step.attempts, Number(payload.attempt ?? 1))
      break
    case 'node_retry':
      step.error = messageOf(payload.error)
      break
    case 'node_complete':
      if (index !== undefined) {
        step.completed.add(index)
        break
      }
      Object.assign(step, {
        status: 'completed',
        endedAt: event.createdAt,
        output: payload.output ?? null,
        error: null,
      })
      break
    case 'node_error':
      Object.assign(step, { status: 'failed', endedAt: event.createdAt, error: messageOf(payload.error) })
      break
    case 'node_skip':
      Object.assign(step, { status: 'skipped', endedAt: event.createdAt, skipReason: String(payload.reason ?? '') })
      break
  }
}

/** What a retry of the run does to a step: what has completed stays. */
function reopen(step: StepSketch): void {
  if (step.status === 'completed') return
  Object.assign(step, { status: 'created', startedAt: null, endedAt: null, skipReason: null, error: null })
}

function untouched(): StepSketch {
  return {
    ...{ status: 'created', attempts: 0, startedAt: null, endedAt: null, skipReason: null, error: null, output: null },
    ...{ elements: new Set<number>(), completed: new Set<number>() },
  }
}

function messageOf(error: Json | undefined): string | null {
  if (typeof error === 'string') return error
  const message = (error as { message?: unknown } | null | undefined)?.message
  return typeof message === 'string' ? message : null
}

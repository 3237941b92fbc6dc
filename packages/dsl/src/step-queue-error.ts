import { type ErrorCode, StarflowError, type StarflowErrorParts } from '@starflow/errors'

/** What the errors about queue names and routes have in common. */
export class StepQueueError extends StarflowError {
  readonly flowSlug: string

  constructor(parts: StarflowErrorParts & { readonly code: ErrorCode; readonly flowSlug: string }) {
    super({ ...parts, fields: { flowSlug: parts.flowSlug, ...parts.fields } })
    this.flowSlug = parts.flowSlug
  }
}

/** A flow without steps, or with nothing but waits, has no queues (SF103). */
export class EmptyStepQueuedFlowError extends StepQueueError {
  constructor(flowSlug: string, hasWaits = false) {
    super({
      code: 'SF103',
      flowSlug,
      message: `Flow "${flowSlug}" has no steps${hasWaits ? ' but waits' : ''}, so it cannot use per-step queues.`,
      detail: 'A step-queued flow has one queue per step; this one would have none.',
      hint: 'Add its steps before withStepQueues(flow).',
    })
  }
}

/** A second step of the same slug in one flow, or of one that differs only in case (SF104). */
export class DuplicateStepSlugError extends StepQueueError {
  readonly stepSlug: string
  readonly existingSlug: string

  constructor(flowSlug: string, stepSlug: string, existingSlug: string) {
    const same = stepSlug === existingSlug
    super({
      code: 'SF104',
      flowSlug,
      message: same
        ? `Flow "${flowSlug}" already has a step "${stepSlug}".`
        : `Flow "${flowSlug}" already has a step "${existingSlug}", which differs from "${stepSlug}" only in case.`,
      detail: 'Step slugs are unique within a flow, whatever their case, because queue names are lowercase.',
      hint: 'Give one of the two steps another slug.',
      fields: { stepSlug, existingSlug },
    })
    this.stepSlug = stepSlug
    this.existingSlug = existingSlug
  }
}

/** Two steps of a flow that would share a queue (SF105). */
export class DuplicateQueueRouteError extends StepQueueError {
  readonly stepSlug: string
  readonly otherStepSlug: string
  readonly queueName: string

  constructor(flowSlug: string, stepSlug: string, otherStepSlug: string, queueName: string) {
    super({
      code: 'SF105',
      flowSlug,
      message: `Steps "${otherStepSlug}" and "${stepSlug}" of flow "${flowSlug}" would share the queue "${queueName}".`,
      detail: 'Every step of a step-queued flow has a queue of its own.',
      hint: 'Rename one of the two steps.',
      fields: { stepSlug, otherStepSlug, queueName },
    })
    this.stepSlug = stepSlug
    this.otherStepSlug = otherStepSlug
    this.queueName = queueName
  }
}

/** The two names that a step's queue can have, and how long they are. */
export interface QueueNameCandidates {
  readonly flowSlug: string
  readonly stepSlug: string
  readonly stepIndex: number
  readonly readableName: string
  readonly readableLength: number
  readonly fallbackName: string
  readonly fallbackLength: number
  readonly maxLength: number
}

/** The flow slug is too long for even the shortest queue name, `<flow>__0` (SF101). */
export class FlowQueueNameError extends StepQueueError implements QueueNameCandidates {
  declare readonly stepSlug: string
  declare readonly stepIndex: number
  declare readonly readableName: string
  declare readonly readableLength: number
  declare readonly fallbackName: string
  declare readonly fallbackLength: number
  declare readonly maxLength: number

  constructor(candidates: QueueNameCandidates) {
    const { flowSlug, maxLength } = candidates
    const shortest = `${flowSlug}__0`
    super({
      code: 'SF101',
      flowSlug,
      message: `Flow "${flowSlug}" cannot use per-step queues.`,
      detail: `The shortest required queue "${shortest}" is ${shortest.length} characters; PGMQ allows at most ${maxLength}.`,
      hint: 'Shorten the concrete flow slug or use the default single queue.',
      fields: { ...candidates },
    })
    Object.assign(this, candidates)
  }
}

/** Neither the readable name nor the index fallback of one step's queue fits (SF102). */
export class StepQueueNameError extends StepQueueError implements QueueNameCandidates {
  declare readonly stepSlug: string
  declare readonly stepIndex: number
  declare readonly readableName: string
  declare readonly readableLength: number
  declare readonly fallbackName: string
  declare readonly fallbackLength: number
  declare readonly maxLength: number

  constructor(candidates: QueueNameCandidates) {
    const { flowSlug, stepSlug, stepIndex, readableLength, fallbackLength, maxLength } = candidates
    super({
      code: 'SF102',
      flowSlug,
      message: `Cannot derive a queue for step "${stepSlug}" at index ${stepIndex} in flow "${flowSlug}".`,
      detail: `The readable name is ${readableLength} characters and the index fallback is ${fallbackLength}; PGMQ allows at most ${maxLength}.`,
      hint: 'Shorten the concrete flow slug, shorten the step slug enough for the readable name, or use the default single queue.',
      fields: { ...candidates },
    })
    Object.assign(this, candidates)
  }
}

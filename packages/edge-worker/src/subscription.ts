import { type AnyFlow, isStepQueuedFlow, type StepQueuedFlow, UnknownStepError } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'

/**
 * What a worker may claim. A value, not a kind of worker: one lifecycle, one poller and one executor serve every kind,
 * and a queue without a flow will be one more.
 */
export type Subscription = FlowSubscription | StepSubscription

/** Every step of a plain flow, through its one queue. */
export interface FlowSubscription {
  readonly kind: 'flow'
  readonly flow: AnyFlow
  readonly flowSlug: string
  readonly stepSlug: null
}

/** One step of a step-queued flow, through its private queue. */
export interface StepSubscription {
  readonly kind: 'step'
  readonly flow: AnyFlow
  readonly flowSlug: string
  readonly stepSlug: string
  /** All routes of the flow as this code derives them: the database compares them, and has the last word. */
  readonly routeMap: readonly { readonly stepSlug: string; readonly queueName: string }[]
}

/**
 * Makes the subscription of a start call.
 *
 * @throws StarflowError SF114 without a step slug for a step-queued flow, SF115 with one for a plain flow, SF107 for an
 * unknown one, SF001 for something that is no flow
 */
export function subscriptionOf(definition: AnyFlow | StepQueuedFlow<AnyFlow>, stepSlug: unknown): Subscription {
  if (isStepQueuedFlow(definition)) return stepSubscription(definition, stepSlug)
  if (!isFlow(definition)) {
    throw new StarflowError({
      code: 'SF001',
      message: 'EdgeWorker.start needs a flow.',
      detail: `It was given ${definition === null ? 'null' : typeof definition}.`,
      hint: 'Pass `new Flow({ slug: … })…` or `withStepQueues(flow)`.',
    })
  }
  const flow: AnyFlow = definition
  if (stepSlug !== undefined) {
    throw new StarflowError({
      code: 'SF115',
      message: `Flow "${flow.slug}" has one queue, so its workers take no stepSlug.`,
      detail: `stepSlug was ${JSON.stringify(stepSlug) ?? typeof stepSlug}.`,
      hint: 'Leave stepSlug out, or give every step its own queue: withStepQueues(flow).',
      fields: { flowSlug: flow.slug },
    })
  }
  return Object.freeze({ kind: 'flow', flow, flowSlug: flow.slug, stepSlug: null })
}

/** The same for two subscriptions that would poll the same queue. */
export function subscriptionKey(subscription: Subscription): string {
  return `${subscription.flowSlug.toLowerCase()}/${subscription.stepSlug?.toLowerCase() ?? ''}`
}

/** The steps whose handlers this subscription can be asked to run. */
export function subscribedSteps(subscription: Subscription): readonly string[] {
  return subscription.stepSlug === null ? subscription.flow.stepOrder : [subscription.stepSlug]
}

function stepSubscription(definition: StepQueuedFlow<AnyFlow>, stepSlug: unknown): StepSubscription {
  const { flow, routes } = definition
  if (stepSlug === undefined || stepSlug === null || stepSlug === '') {
    throw new StarflowError({
      code: 'SF114',
      message: `Flow "${flow.slug}" has one queue per step, so a worker of it needs a stepSlug.`,
      detail: `Its steps are: ${flow.stepOrder.join(', ')}.`,
      hint: `EdgeWorker.start(flow, { stepSlug: '${flow.stepOrder[0]}' })`,
      fields: { flowSlug: flow.slug, knownSlugs: [...flow.stepOrder] },
    })
  }
  const route = routes.find((candidate) => candidate.stepSlug === stepSlug)
  if (route === undefined) throw new UnknownStepError(flow.slug, String(stepSlug), flow.stepOrder)
  return Object.freeze({
    kind: 'step',
    flow,
    flowSlug: flow.slug,
    stepSlug: route.stepSlug,
    routeMap: Object.freeze(routes.map(({ stepSlug, queueName }) => Object.freeze({ stepSlug, queueName }))),
  })
}

function isFlow(value: unknown): value is AnyFlow {
  if (typeof value !== 'object' || value === null) return false
  const candidate = value as Partial<AnyFlow>
  return (
    typeof candidate.slug === 'string' &&
    Array.isArray(candidate.stepOrder) &&
    typeof candidate.getStepDefinition === 'function'
  )
}

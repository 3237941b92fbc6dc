import {
  type AnyFlow,
  type HandledStep,
  isStepQueuedFlow,
  requireFlow,
  requireQueueSteps,
  StepIsWaitError,
  type StepQueuedFlow,
  UnknownStepError,
} from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { type RetryConfig, type RetryPolicy, resolveRetryPolicy } from './retry-policy.ts'

/** What a worker may claim. A value, not a kind of worker: one lifecycle, one poller and one executor serve every kind. */
export type Subscription = FlowSubscription | StepSubscription | QueueSubscription

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

/** The messages of a queue without a flow. */
export interface QueueSubscription {
  readonly kind: 'queue'
  readonly flowSlug: null
  readonly stepSlug: null
  /** In lower case, as pgmq names its tables. */
  readonly queueName: string
  readonly handler: AnyQueueHandler
  readonly retry: RetryPolicy
  /** How long a handler may take; undefined for as long as it likes. */
  readonly timeoutSeconds: number | undefined
}

/** A queue's handler with its types erased. */
export type AnyQueueHandler = (message: unknown, context: object) => unknown

/** The options that only a queue worker has. */
export interface QueueOptions {
  /** The queue to poll. It must be there; case does not matter. */
  readonly queueName: string
  /** When a failed message is tried again. After the last retry it goes to the dead letters. */
  readonly retry?: RetryConfig
  /** Seconds that a handler may take before its `ctx.signal` is aborted and the attempt fails. Default: no limit. */
  readonly timeout?: number
  /** Seconds for which a message is hidden at a time, extended while its handler runs. Default 10. */
  readonly visibilityTimeout?: number | undefined
}

/**
 * Makes the subscription of a queue worker.
 *
 * @throws StarflowError SF001 naming every problem at once
 */
export function queueSubscriptionOf(
  handler: AnyQueueHandler,
  options: { readonly [K in 'queueName' | 'retry' | 'timeout']?: unknown },
): QueueSubscription {
  const { queueName, timeout } = options
  const { policy, problems: retryProblems } = resolveRetryPolicy(options.retry)
  const problems = [...retryProblems]
  if (typeof queueName !== 'string' || queueName.trim() === '') {
    problems.unshift('"queueName" is required: the name of the queue whose messages the handler gets.')
  }
  const isTimeout = typeof timeout === 'number' && Number.isInteger(timeout) && timeout >= 1 && timeout <= MAX_INTEGER
  if (timeout !== undefined && !isTimeout) problems.push('"timeout" must be a whole number of seconds, 1 or more.')
  if (problems.length > 0) {
    throw new StarflowError({
      code: 'SF001',
      message: `The queue worker's configuration is not valid: ${problems.join(' ')}`,
      detail: `Given: queueName ${JSON.stringify(queueName)}, retry ${JSON.stringify(options.retry)}, timeout ${JSON.stringify(timeout)}.`,
      hint: "EdgeWorker.start(async (message, ctx) => { … }, { queueName: 'mails', retry: { limit: 5 } })",
      fields: { problems },
    })
  }
  return Object.freeze({
    kind: 'queue',
    flowSlug: null,
    stepSlug: null,
    queueName: (queueName as string).toLowerCase(),
    handler,
    retry: policy,
    timeoutSeconds: timeout as number | undefined,
  })
}

const MAX_INTEGER = 2_147_483_647

/**
 * Makes the subscription of a start call.
 *
 * @throws StarflowError SF114 without a step slug for a step-queued flow, SF115 with one for a plain flow, SF107 for an
 * unknown one, SF119 for a wait, SF122 for a flow of another library, SF001 for anything else
 */
export function subscriptionOf(
  definition: AnyFlow | StepQueuedFlow<AnyFlow>,
  stepSlug: unknown,
): FlowSubscription | StepSubscription {
  if (isStepQueuedFlow(definition)) return stepSubscription(definition, stepSlug)
  requireFlow(
    'EdgeWorker.start',
    definition,
    'Pass `new Flow({ slug: … })…`, `withStepQueues(flow)`, or a handler with { queueName }.',
  )
  const flow: AnyFlow = definition
  requireQueueSteps(flow)
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
  if (subscription.kind === 'queue') return `/${subscription.queueName}`
  return `${subscription.flowSlug.toLowerCase()}/${subscription.stepSlug?.toLowerCase() ?? ''}`
}

/** The steps whose handlers this subscription can be asked to run. */
export function subscribedSteps({ flow, stepSlug }: FlowSubscription | StepSubscription): readonly HandledStep[] {
  return (stepSlug === null ? flow.stepOrder : [stepSlug])
    .map((slug) => flow.getStepDefinition(slug))
    .filter((step) => step.stepType !== 'wait')
}

function stepSubscription(definition: StepQueuedFlow<AnyFlow>, stepSlug: unknown): StepSubscription {
  const { flow, routes } = definition
  const handledSlugs = routes.map((route) => route.stepSlug)
  if (stepSlug === undefined || stepSlug === null || stepSlug === '') {
    throw new StarflowError({
      code: 'SF114',
      message: `Flow "${flow.slug}" has one queue per step, so a worker of it needs a stepSlug.`,
      detail: `Its steps are: ${handledSlugs.join(', ')}.`,
      hint: `EdgeWorker.start(flow, { stepSlug: '${handledSlugs[0]}' })`,
      fields: { flowSlug: flow.slug, knownSlugs: handledSlugs },
    })
  }
  const route = routes.find((candidate) => candidate.stepSlug === stepSlug)
  if (route === undefined) {
    const slug = String(stepSlug)
    if (flow.stepOrder.includes(slug)) throw new StepIsWaitError(flow.slug, slug, handledSlugs)
    throw new UnknownStepError(flow.slug, slug, handledSlugs)
  }
  return Object.freeze({
    kind: 'step',
    flow,
    flowSlug: flow.slug,
    stepSlug: route.stepSlug,
    routeMap: Object.freeze(routes.map(({ stepSlug, queueName }) => Object.freeze({ stepSlug, queueName }))),
  })
}

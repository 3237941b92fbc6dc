import { StarflowError } from '@starflow/errors'
import { isFlow, refuseForeignFlow } from './flow-brand.ts'
import type { FlowTypeError } from './flow-type-error.ts'
import type { AnyFlow, HandledStepSlug } from './flow-types.ts'
import { resolveQueueName } from './queue-name.ts'
import { requireQueueSteps } from './runner-steps.ts'
import { StepIsWaitError } from './step-is-wait-error.ts'
import { DuplicateQueueRouteError, DuplicateStepSlugError, EmptyStepQueuedFlowError } from './step-queue-error.ts'

/** Whether a flow has one queue, or one private queue per step. */
export type QueueMode = 'flow' | 'step'

/** Which queue the tasks of a step go through. */
export interface Route<TSlug extends string = string> {
  readonly stepSlug: TSlug
  /** Zero-based. */
  readonly stepIndex: number
  readonly queueName: string
}

/** Says at run time that a value is a step-queued flow, whichever copy of this package made it. */
const stepQueuedBrand: unique symbol = Symbol.for('starflow.stepQueuedFlow')

/**
 * A flow in which every step except waits has its own queue. Its routes are checked and frozen. The slugs are a separate type
 * parameter so that every such flow is a `StepQueuedFlow<AnyFlow>`: derived from TFlow, they would make it invariant.
 */
export interface StepQueuedFlow<TFlow extends AnyFlow = AnyFlow, TSlug extends string = HandledStepSlug<TFlow>>
  extends Refused<
    'step' | 'array' | 'map' | 'wait',
    'Add steps before withStepQueues: it makes a queue for each step that is there'
  > {
  readonly flow: TFlow
  /** In step order, without the waits, which keep their places: an index may be missing. */
  readonly routes: readonly Route<TSlug>[]
  readonly [stepQueuedBrand]: true
}

/** Types only, for their sentence: nothing is there at run time. */
type Refused<TName extends string, TSentence extends string> = { readonly [K in TName]: FlowTypeError<TSentence> }

/**
 * Gives every step of a flow its own private queue, and with it its own workers: a slow step never holds up a fast one. A wait
 * needs neither.
 * Checks every queue name at once, before anything touches a worker or a database.
 *
 * @throws EmptyStepQueuedFlowError, FlowQueueNameError, StepQueueNameError, DuplicateStepSlugError,
 *   DuplicateQueueRouteError; all of them are a StepQueueError. ForeignFlowError for a flow of another library, SF123 for
 *   one with steps that only runners can run
 *
 * @example
 * export const communityThreads = withStepQueues(flow)
 */
export function withStepQueues<TFlow extends AnyFlow>(flow: TFlow): StepQueuedFlow<TFlow>
export function withStepQueues(
  flow: FlowTypeError<'This flow has step queues already: call withStepQueues once, on the finished flow'>,
): never
export function withStepQueues<TFlow extends AnyFlow>(flow: TFlow): StepQueuedFlow<TFlow> {
  requirePlainFlow(flow)
  const { slug: flowSlug, stepOrder } = flow
  if (stepOrder.length === 0) throw new EmptyStepQueuedFlowError(flowSlug)
  requireDistinctSlugs(flowSlug, stepOrder)
  const routes = stepOrder.flatMap((stepSlug, stepIndex) =>
    isWait(flow, stepSlug)
      ? []
      : [Object.freeze({ stepSlug, stepIndex, queueName: resolveQueueName(flowSlug, stepSlug, stepIndex) })],
  )
  if (routes.length === 0) throw new EmptyStepQueuedFlowError(flowSlug, true)
  requireDistinctQueues(flowSlug, routes)
  requireQueueSteps(flow)
  return Object.freeze({
    flow,
    routes: Object.freeze(routes) as readonly Route<HandledStepSlug<TFlow>>[],
    [stepQueuedBrand]: true as const,
  }) as StepQueuedFlow<TFlow>
}

/** True for what withStepQueues returns, from any copy of this package. */
export function isStepQueuedFlow(value: unknown): value is StepQueuedFlow {
  if (typeof value !== 'object' || value === null) return false
  const { [stepQueuedBrand]: brand, flow } = value as Partial<StepQueuedFlow>
  return brand === true && isFlow(flow)
}

/**
 * Refuses a wait where a step is needed that a worker runs.
 *
 * @throws StepIsWaitError
 */
export function requireHandledStep({ flow, routes }: StepQueuedFlow, stepSlug: string): void {
  if (!isWait(flow, stepSlug)) return
  throw new StepIsWaitError(
    flow.slug,
    stepSlug,
    routes.map((route) => route.stepSlug),
  )
}

/** Whether a step is a wait: it has no queue and no worker. */
function isWait(flow: AnyFlow, stepSlug: string): boolean {
  return flow.getStepDefinition(stepSlug)?.stepType === 'wait'
}

function requirePlainFlow(flow: unknown): void {
  if (isFlow(flow)) return
  refuseForeignFlow('withStepQueues was given', flow)
  throw new StarflowError({
    code: 'SF001',
    message: isStepQueuedFlow(flow) ? 'This flow has step queues already.' : 'withStepQueues takes a Flow.',
    detail: `It was given ${isStepQueuedFlow(flow) ? 'what withStepQueues returned' : `a value of type ${typeof flow}`}.`,
    hint: 'Call it once, on the finished flow: export const orders = withStepQueues(flow).',
  })
}

// Flow refuses these itself; one from another version of this package may not.
function requireDistinctSlugs(flowSlug: string, stepOrder: readonly string[]): void {
  const seen = new Map<string, string>()
  for (const stepSlug of stepOrder) {
    const existing = seen.get(stepSlug.toLowerCase())
    if (existing !== undefined) throw new DuplicateStepSlugError(flowSlug, stepSlug, existing)
    seen.set(stepSlug.toLowerCase(), stepSlug)
  }
}

// Under the slug contract no two names can meet: a readable name ends in a slug, which begins with a letter, a fallback
// in a number. The check holds whatever the contract becomes.
function requireDistinctQueues(flowSlug: string, routes: readonly Route[]): void {
  const seen = new Map<string, string>()
  for (const { stepSlug, queueName } of routes) {
    const other = seen.get(queueName)
    if (other !== undefined) throw new DuplicateQueueRouteError(flowSlug, stepSlug, other, queueName)
    seen.set(queueName, stepSlug)
  }
}

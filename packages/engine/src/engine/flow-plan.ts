import type { AnyFlow, JsonObject, SkipMode, StepType } from '@starflow/dsl'
import type { RetryOptions } from './retry-delay.ts'

/** A step as the engine plans with it: options of step and flow merged, with the defaults of the SQL core. */
export interface PlannedStep extends RetryOptions {
  readonly slug: string
  readonly index: number
  readonly stepType: StepType
  readonly dependencies: readonly string[]
  /** In the order of the flow. */
  readonly dependents: readonly string[]
  readonly required: JsonObject | undefined
  readonly forbidden: JsonObject | undefined
  readonly whenUnmet: SkipMode
  readonly whenExhausted: SkipMode
  readonly maxAttempts: number
  /** Of a wait: how long it stays open; undefined: for ever. */
  readonly timeoutSeconds: number | undefined
  readonly startDelaySeconds: number
  /** A map goes over its output, which therefore has to be an array. */
  readonly feedsMap: boolean
}

/** The structure of a flow, ready to be decided on. Without handlers: nothing in it does anything. */
export interface FlowPlan {
  readonly flowSlug: string
  /** In the order of the flow: a dependency comes before its dependents. */
  readonly steps: readonly PlannedStep[]
  readonly bySlug: ReadonlyMap<string, PlannedStep>
}

const DEFAULT_MAX_ATTEMPTS = 3
const DEFAULT_BASE_DELAY_SECONDS = 5
const DEFAULT_TIMEOUT_SECONDS = 60

export function planFlow(flow: AnyFlow): FlowPlan {
  const definitions = flow.stepOrder.map((slug) => flow.getStepDefinition(slug))
  const steps = definitions.map((step): PlannedStep => {
    const dependents = definitions.filter((other) => other.dependencies.includes(step.slug))
    const options = { ...flow.options, ...step.options }
    return {
      slug: step.slug,
      index: step.index,
      stepType: step.stepType,
      dependencies: step.dependencies,
      dependents: dependents.map((dependent) => dependent.slug),
      required: step.requiredInputPattern,
      forbidden: step.forbiddenInputPattern,
      whenUnmet: step.whenUnmet,
      whenExhausted: step.whenExhausted,
      maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
      baseDelaySeconds: options.baseDelay ?? DEFAULT_BASE_DELAY_SECONDS,
      maxDelaySeconds: options.maxDelay,
      // The flow's timeout is that of handlers: a wait has its own or none.
      timeoutSeconds:
        (step.stepType as string) === 'wait' ? step.options.timeout : (options.timeout ?? DEFAULT_TIMEOUT_SECONDS),
      startDelaySeconds: ('startDelay' in step.options && step.options.startDelay) || 0,
      feedsMap: dependents.some((dependent) => dependent.stepType === 'map'),
    }
  })
  return { flowSlug: flow.slug, steps, bySlug: new Map(steps.map((step) => [step.slug, step])) }
}

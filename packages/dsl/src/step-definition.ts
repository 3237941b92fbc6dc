import type { JsonObject } from './json.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'
import type { SkipMode, StepRuntimeOptions } from './step-option.ts'

/**
 * `single` runs its handler once, `map` once per element of an array. `wait` runs nothing: it stands open until somebody
 * resumes it, or its timeout comes.
 */
export type StepType = 'single' | 'map' | 'wait'

/** A step as its flow holds it: checked and frozen. `stepType` tells a wait from a step with a handler. */
export type StepDefinition<THandler = StepHandler> = HandledStep<THandler> | WaitStep

/** A step that a worker runs. */
export interface HandledStep<THandler = StepHandler> extends AnyStep {
  readonly stepType: 'single' | 'map'
  /** Whether its handler runs in the transaction that reports its end. */
  readonly transactional: boolean
  readonly handler: THandler
}

/** A durable wait: no handler, no worker, no queue. Of the options it has a timeout at most. */
export interface WaitStep extends AnyStep {
  readonly stepType: 'wait'
  /** What a resume must bring. */
  readonly payload: StandardSchemaV1 | undefined
}

interface AnyStep {
  readonly slug: string
  /** Zero-based position in the flow. */
  readonly index: number
  /** In the order they were written. */
  readonly dependencies: readonly string[]
  readonly requiredInputPattern: JsonObject | undefined
  readonly forbiddenInputPattern: JsonObject | undefined
  readonly whenUnmet: SkipMode
  readonly whenExhausted: SkipMode
  /** Only what was set. */
  readonly options: StepRuntimeOptions
}

/**
 * A handler as a worker calls it. The method signature makes its parameters bivariant: every typed handler is one of these.
 */
export type StepHandler = { handle(input: unknown, context: unknown): unknown }['handle']

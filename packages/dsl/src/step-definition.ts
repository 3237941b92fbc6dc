import type { JsonObject } from './json.ts'
import type { SkipMode, StepRuntimeOptions } from './step-option.ts'

/**
 * `single` runs its handler once, `map` once per element of an array. A durable wait will be a third type, with its own
 * method on Flow: treat an unknown type as one that this version cannot run.
 */
export type StepType = 'single' | 'map'

/** A step as its flow holds it: checked and frozen. */
export interface StepDefinition<THandler = StepHandler> {
  readonly slug: string
  /** Zero-based position in the flow. */
  readonly index: number
  readonly stepType: StepType
  /** In the order they were written. */
  readonly dependencies: readonly string[]
  readonly requiredInputPattern: JsonObject | undefined
  readonly forbiddenInputPattern: JsonObject | undefined
  readonly whenUnmet: SkipMode
  readonly whenExhausted: SkipMode
  /** Whether its handler runs in the transaction that reports its end. */
  readonly transactional: boolean
  /** Only what was set. */
  readonly options: StepRuntimeOptions
  readonly handler: THandler
}

/**
 * A handler as a worker calls it. The method signature makes its parameters bivariant: every typed handler is one of these.
 */
export type StepHandler = { handle(input: unknown, context: unknown): unknown }['handle']

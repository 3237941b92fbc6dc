import type { AnyFlow } from './flow-types.ts'
import { jsonSchemaOf } from './input-schema.ts'
import type { JsonObject } from './json.ts'
import type { StepType } from './step-definition.ts'
import type { RuntimeOptions, SkipMode, StepRuntimeOptions } from './step-option.ts'

/**
 * A flow as the database compiles it. Steps in order, their types, dependencies and conditions are its structure, which
 * never changes under one slug; options and the input schema travel along and are not compared.
 *
 * `transactional` does not travel: how a handler commits its effects is between the code and its worker. Changing it needs
 * no new slug, and no other worker's behaviour depends on it.
 */
export interface FlowShape {
  readonly steps: readonly StepShape[]
  readonly options?: RuntimeOptions
  /** JSON Schema of the flow's input, when its schema library can tell. */
  readonly inputSchema?: JsonObject
}

export interface StepShape {
  readonly slug: string
  readonly stepType: StepType
  /** Sorted. */
  readonly dependencies: readonly string[]
  readonly whenUnmet: SkipMode
  readonly whenExhausted: SkipMode
  readonly requiredInputPattern: PatternShape
  readonly forbiddenInputPattern: PatternShape
  readonly options?: StepRuntimeOptions
}

export type PatternShape = { readonly defined: false } | { readonly defined: true; readonly value: JsonObject }

/** The JSON that `pgflow.ensure_flow_compiled` takes. */
export function extractFlowShape(flow: AnyFlow): FlowShape {
  const inputSchema = flow.input && jsonSchemaOf(flow.input)
  return {
    steps: flow.stepOrder.map((slug) => stepShape(flow, slug)),
    ...setOptions(flow.options),
    ...(inputSchema && { inputSchema }),
  }
}

function stepShape(flow: AnyFlow, slug: string): StepShape {
  const step = flow.getStepDefinition(slug)
  return {
    slug,
    stepType: step.stepType,
    // By code unit, as SQL sorts them with collate "C".
    dependencies: [...step.dependencies].sort(),
    whenUnmet: step.whenUnmet,
    whenExhausted: step.whenExhausted,
    requiredInputPattern: patternShape(step.requiredInputPattern),
    forbiddenInputPattern: patternShape(step.forbiddenInputPattern),
    ...setOptions(step.options),
  }
}

function patternShape(value: JsonObject | undefined): PatternShape {
  return value === undefined ? { defined: false } : { defined: true, value }
}

function setOptions<TOptions extends object>(options: TOptions): { options?: TOptions } {
  return Object.keys(options).length === 0 ? {} : { options: { ...options } }
}

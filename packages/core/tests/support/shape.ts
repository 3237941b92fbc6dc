import type { FlowShape, JsonObject, RuntimeOptions, SkipMode, StepRuntimeOptions } from '@starflow/dsl'

export interface StepSketch extends StepRuntimeOptions {
  readonly after?: readonly string[]
  readonly map?: boolean
  readonly wait?: boolean
  readonly if?: JsonObject
  readonly ifNot?: JsonObject
  readonly whenUnmet?: SkipMode
  readonly whenExhausted?: SkipMode
}

/** A flow's shape without its handlers, for flows that a test makes up from data. Steps come in the order of the keys. */
export function shape(steps: Readonly<Record<string, StepSketch>>, options: RuntimeOptions = {}): FlowShape {
  return {
    options,
    steps: Object.entries(steps).map(
      ([slug, { after, map, wait, if: required, ifNot, whenUnmet, whenExhausted, ...rest }]) => ({
        slug,
        stepType: wait === true ? 'wait' : map === true ? 'map' : 'single',
        dependencies: [...(after ?? [])].sort(),
        whenUnmet: whenUnmet ?? 'skip',
        whenExhausted: whenExhausted ?? 'fail',
        requiredInputPattern: required === undefined ? { defined: false } : { defined: true, value: required },
        forbiddenInputPattern: ifNot === undefined ? { defined: false } : { defined: true, value: ifNot },
        options: rest,
      }),
    ),
  }
}

import type { FlowTypeError } from './flow-type-error.ts'
import { InvalidStepOptionError } from './invalid-step-option-error.ts'
import type { JsonObject } from './json.ts'
import { toJsonText } from './json-text.ts'

/**
 * The pattern of `if` and `ifNot`: a part of the step's input that must be contained in it, as Postgres' `@>` understands
 * it. The step's input is the flow's input for a root step and the object of its dependencies' outputs otherwise.
 *
 * @example
 * InputPattern<{ classify: { route: string; tags: string[] } }> // { classify?: { route?: string; tags?: string[] } }
 */
export type InputPattern<TInput> = 0 extends 1 & TInput
  ? JsonObject
  : unknown extends TInput
    ? JsonObject
    : TInput extends readonly unknown[]
      ? FlowTypeError<'A pattern is an object, and the flow input is an array: give the condition to a step after this one, or wrap the array in an object'>
      : TInput extends object
        ? PartOf<TInput>
        : FlowTypeError<'A pattern is an object, and the flow input is not: wrap the input in an object'>

type PartOf<T> = 0 extends 1 & T
  ? T
  : T extends readonly (infer TElement)[]
    ? readonly PartOf<TElement>[]
    : T extends object
      ? { readonly [K in keyof T]?: PartOf<T[K]> }
      : T

/**
 * A frozen copy of the pattern, so that changing the original afterwards changes nothing.
 *
 * @throws InvalidStepOptionError for a pattern that is not a JSON object
 */
export function checkPattern(owner: string, option: 'if' | 'ifNot', pattern: unknown): JsonObject {
  if (typeof pattern !== 'object' || pattern === null || Array.isArray(pattern)) {
    throw new InvalidStepOptionError({
      owner,
      option,
      value: pattern,
      rule: 'must be a JSON object: a part of the step’s input',
      hint: 'Write the part of the input that must match, as in { classify: { route: "help" } }. A flow input that is an array has no pattern: give the condition to a step after this one, or wrap the array in an object.',
    })
  }
  try {
    return deepFreeze(JSON.parse(toJsonText(pattern)) as JsonObject)
  } catch (error) {
    throw new InvalidStepOptionError({
      owner,
      option,
      value: pattern,
      rule: `must hold JSON only: ${error instanceof Error ? error.message : String(error)}`,
    })
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) deepFreeze(part)
    Object.freeze(value)
  }
  return value
}

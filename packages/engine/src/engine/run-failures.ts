import type { Json } from '@starflow/dsl'
import type { ErrorCode } from '@starflow/errors'
import type { RunFailure } from '../run-record.ts'
import type { PlannedStep } from './flow-plan.ts'

/**
 * What the engine itself fails a node with. They are recognised by their code: a run is read again from its events, where
 * no class survives.
 */

const TYPE_VIOLATION: ErrorCode = 'SF811'

/** A step that feeds a map must give an array: nothing below it could run, so its run fails whatever its modes say. */
export function typeViolation(step: PlannedStep, output: Json): RunFailure | undefined {
  if (!step.feedsMap || Array.isArray(output)) return undefined
  return {
    name: 'TypeViolationError',
    code: TYPE_VIOLATION,
    message: `[TYPE_VIOLATION] Step "${step.slug}" feeds a map and must return an array, but returned ${jsonType(output)}`,
  }
}

export function inputViolation(flowSlug: string, input: Json): RunFailure {
  return {
    name: 'TypeViolationError',
    code: TYPE_VIOLATION,
    message: `Flow ${flowSlug} has root map steps but input is not an array (got ${jsonType(input)})`,
  }
}

export function isTypeViolation(failure: RunFailure): boolean {
  return failure.code === TYPE_VIOLATION
}

export function conditionUnmet(): RunFailure {
  return { name: 'ConditionUnmetError', code: 'SF812', message: 'Condition not met' }
}

export function stalled(attempts: number): RunFailure {
  return {
    name: 'StalledError',
    code: 'SF813',
    message: `Stalled: no report came back in ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
  }
}

/** As `jsonb_typeof` says it. */
function jsonType(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

import { StarflowError } from '@starflow/errors'
import type { JsonObject } from './json.ts'
import type { StepType } from './step-definition.ts'

/** A dependency that cannot be: an unknown step, one named twice, a second one of a map, or a condition on none (SF112). */
export class InvalidDependencyError extends StarflowError {
  readonly flowSlug: string
  readonly stepSlug: string

  constructor(parts: { flowSlug: string; stepSlug: string; message: string; detail: string; hint: string }) {
    const { flowSlug, stepSlug, message, detail, hint } = parts
    super({ code: 'SF112', message, detail, hint, fields: { flowSlug, stepSlug } })
    this.flowSlug = flowSlug
    this.stepSlug = stepSlug
  }
}

/** The dependencies, frozen, or the refusal of the first one that cannot be. */
export function checkDependencies(step: {
  readonly flowSlug: string
  readonly stepSlug: string
  readonly stepType: StepType
  readonly dependencies: readonly string[]
  readonly knownSlugs: readonly string[]
}): readonly string[] {
  const { flowSlug, stepSlug, dependencies, knownSlugs } = step
  if (step.stepType === 'map' && dependencies.length > 1) {
    throw new InvalidDependencyError({
      flowSlug,
      stepSlug,
      message: `Map step "${stepSlug}" can have at most one dependency, but ${dependencies.length} were provided: ${dependencies.join(', ')}`,
      detail: 'A map runs its handler once for each element of one array.',
      hint: 'Join the arrays in an .array() step of their own and map over that.',
    })
  }
  for (const [index, dependency] of dependencies.entries()) {
    if (!knownSlugs.includes(dependency)) {
      throw new InvalidDependencyError({
        flowSlug,
        stepSlug,
        message: `Step "${stepSlug}" of flow "${flowSlug}" depends on ${JSON.stringify(dependency)}, which is not a step before it.`,
        detail: 'A step may depend on the steps that were added before it, and not on itself.',
        hint:
          knownSlugs.length === 0
            ? 'There is no step before it: leave the dependency out, or add that step first.'
            : `The steps before it are: ${knownSlugs.join(', ')}.`,
      })
    }
    if (dependencies.indexOf(dependency) !== index) {
      throw new InvalidDependencyError({
        flowSlug,
        stepSlug,
        message: `Step "${stepSlug}" of flow "${flowSlug}" names the dependency "${dependency}" twice.`,
        detail: `Its dependencies are: ${dependencies.join(', ')}.`,
        hint: 'Name each dependency once.',
      })
    }
  }
  return Object.freeze([...dependencies])
}

/**
 * Refuses a condition on a step that is no dependency: the input of a step with dependencies is the object of their outputs,
 * so such a condition could never hold (`if`), or never fail (`ifNot`). A root step's condition is about the flow's input.
 */
export function checkConditionSteps(
  step: { readonly flowSlug: string; readonly stepSlug: string; readonly dependencies: readonly string[] },
  conditions: Readonly<Record<'if' | 'ifNot', JsonObject | undefined>>,
): void {
  const { flowSlug, stepSlug, dependencies } = step
  if (dependencies.length === 0) return
  for (const [option, pattern] of Object.entries(conditions)) {
    const unknown = Object.keys(pattern ?? {}).find((key) => !dependencies.includes(key))
    if (unknown === undefined) continue
    throw new InvalidDependencyError({
      flowSlug,
      stepSlug,
      message: `The condition \`${option}\` of step "${stepSlug}" of flow "${flowSlug}" names ${JSON.stringify(unknown)}, which the step does not depend on.`,
      detail: 'The condition of a step with dependencies is about their outputs, by the name of the step.',
      hint: `It depends on: ${dependencies.join(', ')}. Correct the name, or add it to dependsOn.`,
    })
  }
}

import { StarflowError } from '@starflow/errors'

/** A step slug that the flow does not have (SF107). The hint lists those it has. */
export class UnknownStepError extends StarflowError {
  readonly flowSlug: string
  readonly stepSlug: string
  readonly knownSlugs: readonly string[]

  constructor(flowSlug: string, stepSlug: string, knownSlugs: readonly string[]) {
    super({
      code: 'SF107',
      message: `Flow "${flowSlug}" has no step "${stepSlug}".`,
      detail: 'Step slugs are compared exactly, upper and lower case too.',
      hint: knownSlugs.length === 0 ? 'This flow has no steps.' : `Its steps are: ${knownSlugs.join(', ')}.`,
      fields: { flowSlug, stepSlug, knownSlugs: [...knownSlugs] },
    })
    this.flowSlug = flowSlug
    this.stepSlug = stepSlug
    this.knownSlugs = Object.freeze([...knownSlugs])
  }
}

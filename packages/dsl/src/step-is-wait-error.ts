import { StarflowError } from '@starflow/errors'

/** A wait was named where a step is needed that a worker runs (SF119). The hint lists those. */
export class StepIsWaitError extends StarflowError {
  readonly flowSlug: string
  readonly stepSlug: string

  constructor(flowSlug: string, stepSlug: string, handledSlugs: readonly string[]) {
    super({
      code: 'SF119',
      message: `Step "${stepSlug}" of flow "${flowSlug}" is a wait: no worker runs it.`,
      detail: 'A wait has no queue. It ends when it is resumed with a token, or at its timeout.',
      hint:
        handledSlugs.length === 0
          ? 'No step of this flow is run by a worker.'
          : `Steps that workers run: ${handledSlugs.join(', ')}.`,
      fields: { flowSlug, stepSlug, handledSlugs: [...handledSlugs] },
    })
    this.flowSlug = flowSlug
    this.stepSlug = stepSlug
  }
}

import { StarflowError } from '@starflow/errors'

/**
 * A flow that the Flow class of this package did not make (SF122). It may lack what workers and runners rely on: its handlers
 * would get another context, and its options would mean something else.
 */
export class ForeignFlowError extends StarflowError {
  readonly flowSlug: string

  /** @param subject the first words of the message: who was given the flow, or which module exports it */
  constructor(subject: string, flowSlug: string, className: string | undefined) {
    super({
      code: 'SF122',
      message: `${subject} a flow that the Flow class of @starflow/dsl did not make: "${flowSlug}".`,
      detail: `It is an object${className === undefined || className === 'Object' ? '' : ` of class ${className}`}, from another library or another version of @starflow/dsl.`,
      hint: "Make the flow with: import { Flow } from '@starflow/dsl'. Give all packages of @starflow the same version.",
      fields: { flowSlug, className: className ?? null },
    })
    this.flowSlug = flowSlug
  }
}

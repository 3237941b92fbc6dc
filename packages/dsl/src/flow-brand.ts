import { StarflowError } from '@starflow/errors'
import type { AnyFlow } from './flow-types.ts'
import { ForeignFlowError } from './foreign-flow-error.ts'

/** Says at run time that a value is a flow, whichever copy of this package made it. */
export const flowBrand: unique symbol = Symbol.for('starflow.flow')

/** True for what the class Flow makes, in any copy of this package. */
export function isFlow(value: unknown): value is AnyFlow {
  return typeof value === 'object' && value !== null && (value as { [flowBrand]?: unknown })[flowBrand] === true
}

/**
 * Refuses anything that is not a flow of this package.
 *
 * @param taker what needs the flow: the first words of the message
 * @param hint what to pass to it instead
 * @throws ForeignFlowError; StarflowError SF001 for anything that does not look like a flow
 */
export function requireFlow(
  taker: string,
  value: unknown,
  hint = 'Pass what `new Flow({ slug: … }).step(…)` returns. A step-queued flow has it as `flow`.',
): asserts value is AnyFlow {
  if (isFlow(value)) return
  refuseForeignFlow(`${taker} was given`, value)
  throw new StarflowError({
    code: 'SF001',
    message: `${taker} needs a flow.`,
    detail: `It was given ${value === null ? 'null' : typeof value}.`,
    hint,
  })
}

/**
 * Refuses an object that looks like a flow, with or without step queues, and was not made by this package. Anything else passes.
 *
 * @param subject the first words of the message: who was given it, or which module exports it
 * @throws ForeignFlowError
 */
export function refuseForeignFlow(subject: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || isFlow(value)) return
  const { slug, stepOrder, routes, flow } = value as Record<string, unknown>
  if (typeof slug === 'string' && Array.isArray(stepOrder)) {
    throw new ForeignFlowError(subject, slug, value.constructor?.name)
  }
  if (Array.isArray(routes)) refuseForeignFlow(subject, flow)
}

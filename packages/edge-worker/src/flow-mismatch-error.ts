import { StarflowError } from '@starflow/errors'

/** The code's definition and the compiled one differ in more than routing (SF108). Nothing was changed. */
export class FlowShapeMismatchError extends StarflowError {
  readonly flowSlug: string
  readonly differences: readonly string[]

  constructor(flowSlug: string, differences: readonly string[]) {
    super({
      code: 'SF108',
      message: `Flow "${flowSlug}" is compiled with another shape than this code has.`,
      ...mismatchParts(flowSlug, differences),
    })
    this.flowSlug = flowSlug
    this.differences = Object.freeze([...differences])
  }
}

/** The queue mode or the queue of a step differs from what is compiled (SF109). Nothing was changed. */
export class FlowRoutingMismatchError extends StarflowError {
  readonly flowSlug: string
  readonly differences: readonly string[]

  constructor(flowSlug: string, differences: readonly string[]) {
    super({
      code: 'SF109',
      message: `Flow "${flowSlug}" is compiled with other queues than this code has.`,
      ...mismatchParts(flowSlug, differences),
    })
    this.flowSlug = flowSlug
    this.differences = Object.freeze([...differences])
  }
}

function mismatchParts(flowSlug: string, differences: readonly string[]) {
  return {
    detail: differences.join(' ') || 'The database named no difference.',
    hint: `A concrete slug keeps its shape and routes: use a new concrete slug for the new version, "${nextSlug(flowSlug)}" say.`,
    fields: { flowSlug, differences: [...differences] },
  }
}

/** `ordersV1` → `ordersV2`, `orders` → `ordersV2`. */
function nextSlug(slug: string): string {
  const match = slug.match(/^(.*?)([vV])(\d{1,9})$/)
  return match ? `${match[1]}${match[2]}${Number(match[3]) + 1}` : `${slug}V2`
}

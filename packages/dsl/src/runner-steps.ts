import { StarflowError } from '@starflow/errors'
import type { AnyFlow } from './flow-types.ts'

/** Known to every copy of this package. */
const runnerHandlerBrand = Symbol.for('starflow.runnerHandler')

/** Says of a handler that step queues have not what it needs: a session, or external workers. */
export function forRunners<THandler extends (...args: never[]) => unknown>(handler: THandler): THandler {
  return Object.defineProperty(handler, runnerHandlerBrand, { value: true })
}

/** The steps of a flow that say so. What other handlers read of `ctx` shows only when they run (SF816). */
function runnerSteps(flow: AnyFlow): readonly string[] {
  return flow.stepOrder.filter((slug) => {
    const step = flow.getStepDefinition(slug) as { readonly handler?: { readonly [runnerHandlerBrand]?: true } }
    return step.handler?.[runnerHandlerBrand] === true
  })
}

/** @throws StarflowError SF123 for a flow with such a step */
export function requireQueueSteps(flow: AnyFlow): void {
  const steps = runnerSteps(flow)
  if (steps.length === 0) return
  throw new StarflowError({
    code: 'SF123',
    message: `Flow "${flow.slug}" runs on runners only: ${steps.map((slug) => `"${slug}"`).join(', ')}.`,
    detail: 'These steps use a session or an external worker, which step queues do not have.',
    hint: 'Load the flow in a runner (npx starflow runner) and start it there; or take these steps into a flow of their own.',
    fields: { flowSlug: flow.slug, steps: [...steps] },
  })
}

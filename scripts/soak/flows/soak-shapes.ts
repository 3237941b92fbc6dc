import { defineWorkers, Flow, withStepQueues } from '@starflow/dsl'
import { handled } from './support/handled.ts'

/** What a run is told to do, drawn by whoever starts it. */
export type ShapesInput = { readonly elements: number; readonly ask: boolean; readonly luck: number }

/** A map, a condition, a step that often fails and is tried again, one that fails for good and is skipped, and a join. */
const flow = new Flow<ShapesInput>({ slug: 'soakShapes', maxAttempts: 6, baseDelay: 1, maxDelay: 3, timeout: 3 })
  .array({ slug: 'split' }, async ({ elements }, ctx) => {
    await handled(ctx)
    return Array.from({ length: elements }, (_each, index) => index)
  })
  .map({ slug: 'each', array: 'split' }, (_element: number, ctx) => handled(ctx))
  .step({ slug: 'flaky' }, async ({ luck }, ctx) => {
    const outcome = await handled(ctx)
    if ((luck * 7 + ctx.stepTask.attempt) % 3 === 0) throw new Error('no luck this time')
    return outcome
  })
  .step({ slug: 'asked', if: { ask: true } }, (_input, ctx) => handled(ctx))
  .step({ slug: 'doomed', maxAttempts: 1, whenExhausted: 'skip' }, async ({ luck }, ctx) => {
    const outcome = await handled(ctx)
    if (luck % 2 === 0) throw new Error('never any luck')
    return outcome
  })
  .step({ slug: 'join', dependsOn: ['each', 'flaky', 'asked', 'doomed'] }, (_outputs, ctx) => handled(ctx))

export const soakShapes = withStepQueues(flow)

export const workers = defineWorkers(soakShapes, { each: { maxConcurrent: 20, batchSize: 20, instances: 2 } })

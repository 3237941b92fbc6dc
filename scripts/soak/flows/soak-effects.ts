import { Flow, NonRetryableError, withStepQueues } from '@starflow/dsl'
import { handled } from './support/handled.ts'

export type EffectsInput = { readonly slowMs: number; readonly ends: boolean }

/** A slow step, then effects that commit with their step, then an end that may fail the run. */
const flow = new Flow<EffectsInput>({ slug: 'soakEffects', maxAttempts: 6, baseDelay: 1, maxDelay: 3, timeout: 5 })
  .step({ slug: 'slow' }, async ({ slowMs }, ctx) => {
    await new Promise((resolve) => setTimeout(resolve, slowMs))
    return handled(ctx)
  })
  .step({ slug: 'pay', dependsOn: ['slow'], transactional: true }, async (_outputs, ctx) => {
    const { run_id, step_slug, task_index, attempt } = ctx.stepTask
    await ctx.tx`insert into soak.effects (run_id, step_slug, task_index, attempt)
      values (${run_id}, ${step_slug}, ${task_index}, ${attempt})`
    // A moment in which the transaction may be cut.
    await new Promise((resolve) => setTimeout(resolve, 20))
    await ctx.tx`update soak.effects set parts = parts + 1 where run_id = ${run_id} and attempt = ${attempt}`
    return { attempt }
  })
  .step({ slug: 'ends', dependsOn: ['pay'] }, async (_outputs, ctx) => {
    const outcome = await handled(ctx)
    // Gives up until the run is retried.
    if ((await ctx.flowInput).ends && ctx.stepTask.attempt === 1) throw new NonRetryableError('ends here')
    return outcome
  })

export const soakEffects = withStepQueues(flow)

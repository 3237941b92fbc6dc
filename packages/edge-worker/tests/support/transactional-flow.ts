import { Flow } from '@starflow/dsl'

/** One step, which writes one row of public.effects in the transaction of its end. */
export function transactionalFlow(slug: string) {
  return new Flow({ slug, timeout: 5, baseDelay: 0 }).step(
    { slug: 'work', transactional: true },
    async (_input, ctx) => {
      const { run_id, attempt } = ctx.stepTask
      await ctx.tx`insert into public.effects (run_id, attempt) values (${run_id}, ${attempt})`
      return 'done'
    },
  )
}

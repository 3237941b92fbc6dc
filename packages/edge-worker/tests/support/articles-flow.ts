import { Flow, unchecked, withStepQueues } from '@starflow/dsl'

interface Verdict {
  approved: boolean
  by: string
}

const flow = new Flow<{ title: string }>({ slug: 'articlesV1' })
  .step({ slug: 'draft' }, ({ title }) => ({ text: `${title}: it was a dark and stormy night.` }))
  .step({ slug: 'ask', dependsOn: ['draft'] }, async ({ draft }, ctx) => {
    const { run_id } = ctx.stepTask
    await ctx.sql`
      insert into public.approval_requests (run_id, text, token)
      values (${run_id}, ${draft.text}, pgflow.issue_wait_token(${run_id}, 'approve'))
      on conflict (run_id) do nothing`
  })
  .wait({
    slug: 'approve',
    dependsOn: ['ask'],
    timeout: 3 * 24 * 60 * 60,
    whenExhausted: 'skip',
    payload: unchecked<Verdict>(),
  })
  .step(
    { slug: 'publish', dependsOn: ['draft', 'approve'], if: { approve: { approved: true } } },
    ({ draft, approve }) => `${draft.text} (released by ${approve?.by})`,
  )

export const articles = withStepQueues(flow)

import { defineWorkers, Flow, withStepQueues } from '@starflow/dsl'
import { classifyThread, type Thread } from './community-threads/classify-thread.ts'
import { deliverToSlack } from './community-threads/deliver-to-slack.ts'

/**
 * Sorts threads of a community forum, and tells a Slack channel of those that ask for help. Each step has its own queue:
 * a slow Slack never holds up the sorting. Set SLACK_WEBHOOK_URL to an incoming webhook; without it deliverSlack logs
 * which thread it would announce.
 */
const flow = new Flow<Thread>({ slug: 'communityThreadsV1', maxAttempts: 3, baseDelay: 1, timeout: 60 })
  .step({ slug: 'classify' }, (thread) => classifyThread(thread))
  .step(
    { slug: 'deliverSlack', dependsOn: ['classify'], if: { classify: { route: 'help' } } },
    async ({ classify }, ctx) =>
      deliverToSlack(await ctx.flowInput, classify, {
        webhookUrl: ctx.env.SLACK_WEBHOOK_URL,
        signal: ctx.signal,
        fetch,
        logger: ctx.logger,
      }),
  )

export const communityThreads = withStepQueues(flow)

export const workers = defineWorkers(communityThreads, {
  classify: { maxConcurrent: 4 },
  deliverSlack: { maxConcurrent: 1 },
})

import {
  type AnyFlow,
  defineWorkers,
  Flow,
  type HandledStepSlug,
  type StepQueuedFlow,
  type WorkerDefinition,
  withStepQueues,
} from '@starflow/dsl'
import type { Sql } from 'postgres'
import { describe, expectTypeOf, it } from 'vitest'
import { EdgeWorker } from './edge-worker.ts'

const plain = new Flow<{ order: number }>({ slug: 'orders' })
  .step({ slug: 'pack' }, (_input, ctx) => {
    expectTypeOf(ctx.sql).toEqualTypeOf<Sql>()
    expectTypeOf(ctx.flowInput).resolves.toEqualTypeOf<{ order: number }>()
    return { boxes: 1 }
  })
  .step({ slug: 'ship', dependsOn: ['pack'] }, ({ pack }) => pack.boxes)
const stepQueued = withStepQueues(plain)
const needsMore = new Flow<object, { mailer: { send(): void } }>({ slug: 'mails' }).step({ slug: 'send' }, () => 1)

// Types only: nothing here runs.
const start = EdgeWorker.start

describe('EdgeWorker.start', () => {
  it('takes a plain flow without a step slug', () => {
    start(plain)
    start(plain, { maxConcurrent: 3, onUnsupportedMessage: 'halt' })
  })

  it('takes a step-queued flow with one of its step slugs', () => {
    start(stepQueued, { stepSlug: 'pack' })
    start(stepQueued, { stepSlug: 'ship', maxConcurrent: 1 })
  })

  it('takes the settings that defineWorkers gives a step', () => {
    const { settings } = defineWorkers(stepQueued, { pack: { instances: 2, onUnsupportedMessage: 'halt' } })
    start(stepQueued, { stepSlug: 'pack', ...settings.pack })
  })

  it('refuses a step slug for a plain flow', () => {
    // @ts-expect-error a plain flow has one queue
    start(plain, { stepSlug: 'pack' })
  })

  it('refuses a step-queued flow without a step slug', () => {
    // @ts-expect-error stepSlug is required
    start(stepQueued)
    // @ts-expect-error stepSlug is required
    start(stepQueued, { maxConcurrent: 1 })
  })

  it('refuses a step slug that the flow does not have, also one that differs in case only', () => {
    // @ts-expect-error there is no such step
    start(stepQueued, { stepSlug: 'unpack' })
    // @ts-expect-error slugs are compared exactly
    start(stepQueued, { stepSlug: 'Pack' })
  })

  it('refuses a wait as the step of a worker, and takes the flow that has one', () => {
    const waiting = plain.wait({ slug: 'approve', dependsOn: ['pack'] })
    start(waiting)
    start(withStepQueues(waiting), { stepSlug: 'ship' })
    // @ts-expect-error no worker runs it
    start(withStepQueues(waiting), { stepSlug: 'approve' })
  })

  it('refuses an option that does not exist', () => {
    // @ts-expect-error a typing mistake
    start(plain, { maxConcurent: 3 })
  })

  it('refuses a flow that needs a context which the worker does not give', () => {
    // @ts-expect-error nobody gives ctx.mailer
    start(needsMore)
    // @ts-expect-error nobody gives ctx.mailer
    start(withStepQueues(needsMore), { stepSlug: 'send' })
  })

  it('takes a handler with the queue whose messages it gets', () => {
    start<{ to: string }>(
      async (mail, ctx) => {
        expectTypeOf(mail).toEqualTypeOf<{ to: string }>()
        expectTypeOf(ctx.sql).toEqualTypeOf<Sql>()
        expectTypeOf(ctx.rawMessage.msg_id).toEqualTypeOf<string>()
        // @ts-expect-error a queue has no step
        ctx.stepTask
      },
      { queueName: 'mails', retry: { strategy: 'fixed', limit: 3 }, visibilityTimeout: 30, maxConcurrent: 2 },
    )
    start((message: { id: number }) => message.id, { queueName: 'mails' })
    start(
      (message, ctx) => {
        expectTypeOf(message).toEqualTypeOf<unknown>()
        expectTypeOf(ctx.sql).toEqualTypeOf<Sql>()
      },
      { queueName: 'mails' },
    )
  })

  it('refuses a handler without a queue, or with what only flows have', () => {
    // @ts-expect-error queueName is required
    start(() => 1)
    // @ts-expect-error queueName is required
    start(() => 1, { maxConcurrent: 1 })
    // @ts-expect-error a queue has no step
    start(() => 1, { queueName: 'mails', stepSlug: 'pack' })
    // @ts-expect-error there is no such strategy
    start(() => 1, { queueName: 'mails', retry: { strategy: 'linear' } })
  })

  it('refuses a queue name for a flow', () => {
    // @ts-expect-error a flow has its own queues
    start(plain, { queueName: 'mails' })
  })

  it('refuses an option that this kind of worker would ignore', () => {
    // @ts-expect-error a flow's steps retry by their own options
    start(plain, { retry: { limit: 3 } })
    // @ts-expect-error each step has its own timeout
    start(plain, { timeout: 60 })
    // @ts-expect-error each step's timeout says for how long its message is hidden
    start(plain, { visibilityTimeout: 60 })
    // @ts-expect-error the same
    start(stepQueued, { stepSlug: 'pack', visibilityTimeout: 60 })
    // @ts-expect-error a plain flow has no generated instances
    start(plain, { instances: 2 })
    // @ts-expect-error any message is the handler's
    start(() => 1, { queueName: 'mails', onUnsupportedMessage: 'halt' })
    // @ts-expect-error a queue has no generated instances
    start(() => 1, { queueName: 'mails', instances: 2 })
  })

  it('starts from a helper for any step-queued flow, whose caller gives the flow and its step', () => {
    function host<T extends AnyFlow>(flow: StepQueuedFlow<T>, stepSlug: HandledStepSlug<T>) {
      start(flow, { stepSlug, maxConcurrent: 2 })
      // @ts-expect-error not a step of every flow
      start(flow, { stepSlug: 'pack' })
      // @ts-expect-error a typing mistake
      start(flow, { stepSlug, maxConcurent: 2 })
    }
    function hostAll<T extends AnyFlow>({ flow, settings }: WorkerDefinition<T>) {
      for (const { stepSlug } of flow.routes) start(flow, { stepSlug, ...settings[stepSlug] })
    }
    host(stepQueued, 'pack')
    hostAll(defineWorkers(stepQueued, {}))
    // @ts-expect-error there is no such step
    host(stepQueued, 'unpack')
  })

  it('refuses something that is no flow', () => {
    // @ts-expect-error a flow, not its slug
    start('orders')
  })
})

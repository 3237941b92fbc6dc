import { describe, expectTypeOf, it } from 'vitest'
import {
  type AnyFlow,
  defineWorkers,
  Flow,
  isStepQueuedFlow,
  type StepQueuedFlow,
  type WorkerDefinition,
  type WorkerSettings,
  withStepQueues,
} from './index.ts'

const flow = new Flow<{ text: string }>({ slug: 'threads' })
  .step({ slug: 'classify' }, () => 'help' as const)
  .step({ slug: 'deliver', dependsOn: ['classify'] }, () => null)

describe('withStepQueues', () => {
  it('keeps the exact flow type and the union of step slugs', () => {
    const queued = withStepQueues(flow)
    expectTypeOf(queued).toEqualTypeOf<StepQueuedFlow<typeof flow>>()
    expectTypeOf(queued.flow).toEqualTypeOf(flow)
    expectTypeOf(queued.routes[0]!.stepSlug).toEqualTypeOf<'classify' | 'deliver'>()
  })

  it('keeps them when the flow is written inside the call', () => {
    const queued = withStepQueues(
      new Flow<{ text: string }>({ slug: 'threads' })
        .step({ slug: 'classify' }, () => 'help' as const)
        .step({ slug: 'deliver', dependsOn: ['classify'] }, () => null),
    )
    expectTypeOf(queued).toEqualTypeOf<StepQueuedFlow<typeof flow>>()

    const links = flow.array(
      { slug: 'links', dependsOn: ['classify'], if: { classify: 'help' }, whenExhausted: 'skip-cascade' },
      (deps, ctx) => [deps.classify, ctx.stepTask.run_id],
    )
    const queuedLinks = withStepQueues(
      flow.array(
        { slug: 'links', dependsOn: ['classify'], if: { classify: 'help' }, whenExhausted: 'skip-cascade' },
        (deps, ctx) => [deps.classify, ctx.stepTask.run_id],
      ),
    )
    expectTypeOf(queuedLinks.flow).toEqualTypeOf(links)
  })

  it('any step-queued flow has routes by text', () => {
    const queued: StepQueuedFlow = withStepQueues(flow)
    expectTypeOf(queued.flow).toEqualTypeOf<AnyFlow>()
    expectTypeOf(queued.routes[0]!.stepSlug).toEqualTypeOf<string>()
  })

  it('what it returns is read-only', () => {
    const queued = withStepQueues(flow)
    // @ts-expect-error a checked route does not change
    queued.routes[0]!.queueName = 'other'
    // @ts-expect-error nor does the list of them
    queued.routes.push(queued.routes[0]!)
  })

  it('takes a flow, once', () => {
    // @ts-expect-error this one has step queues already
    const again = () => withStepQueues(withStepQueues(flow))
    // @ts-expect-error a slug is not a flow
    const text = () => withStepQueues('threads')
    expectTypeOf(again).toBeFunction()
    expectTypeOf(text).toBeFunction()
  })

  it('isStepQueuedFlow narrows', () => {
    const value: unknown = flow
    if (isStepQueuedFlow(value)) expectTypeOf(value).toEqualTypeOf<StepQueuedFlow>()
  })
})

describe('defineWorkers', () => {
  const queued = withStepQueues(flow)

  it('takes settings by step slug', () => {
    const workers = defineWorkers(queued, { classify: { maxConcurrent: 4 }, deliver: { instances: 3 } })
    expectTypeOf(workers.flow).toEqualTypeOf<StepQueuedFlow<typeof flow>>()
    expectTypeOf(workers.settings.classify?.maxConcurrent).toEqualTypeOf<number | undefined>()
    const any: WorkerDefinition = workers
    expectTypeOf(any.settings.whatever).toEqualTypeOf<WorkerSettings | undefined>()
  })

  it('refuses an unknown step, an unknown setting and a plain flow', () => {
    // @ts-expect-error it is classify
    const step = () => defineWorkers(queued, { clasify: {} })
    // @ts-expect-error it is maxConcurrent
    const setting = () => defineWorkers(queued, { classify: { concurrency: 4 } })
    // @ts-expect-error a plain flow has one worker, not one per step
    const plain = () => defineWorkers(flow, { classify: {} })
    expectTypeOf([step, setting, plain]).toBeArray()
  })
})

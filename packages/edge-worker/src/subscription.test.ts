import { type AnyFlow, externalStep, Flow, withStepQueues } from '@starflow/dsl'
import { isStarflowError } from '@starflow/errors'
import { describe, expect, it, vi } from 'vitest'
import { type StepSubscription, subscribedSteps, subscriptionKey, subscriptionOf } from './subscription.ts'

const flow = new Flow({ slug: 'communityThreadsV1' })
  .step({ slug: 'classify' }, () => 1)
  .step({ slug: 'deliverSlack' }, () => 2)
const stepQueued = withStepQueues(flow)

function refusal(definition: unknown, stepSlug: unknown) {
  try {
    subscriptionOf(definition as AnyFlow, stepSlug)
  } catch (error) {
    if (isStarflowError(error)) return error
  }
  return undefined
}

describe('subscriptionOf', () => {
  it('refuses a flow that only runners can run', () => {
    const reports = new Flow({ slug: 'reports' }).step({ slug: 'render' }, externalStep('render'))
    expect(() => subscriptionOf(reports as unknown as AnyFlow, undefined)).toThrow(
      expect.objectContaining({ code: 'SF123' }),
    )
  })

  it('subscribes a plain flow as a whole', () => {
    expect(subscriptionOf(flow, undefined)).toMatchObject({
      kind: 'flow',
      flowSlug: 'communityThreadsV1',
      stepSlug: null,
    })
  })

  it('subscribes one step, with the routes of all', () => {
    expect(subscriptionOf(stepQueued, 'deliverSlack')).toMatchObject({
      kind: 'step',
      stepSlug: 'deliverSlack',
      routeMap: [
        { stepSlug: 'classify', queueName: 'communitythreadsv1__classify' },
        { stepSlug: 'deliverSlack', queueName: 'communitythreadsv1__deliverslack' },
      ],
    })
  })

  for (const stepSlug of [undefined, null, '']) {
    it(`asks for a step slug instead of ${JSON.stringify(stepSlug)}, and lists them`, () => {
      expect(refusal(stepQueued, stepSlug)).toMatchObject({
        code: 'SF114',
        detail: 'Its steps are: classify, deliverSlack.',
      })
    })
  }

  it('refuses a flow of another library, with or without step queues', () => {
    class OtherFlow {
      slug = 'orders'
      stepOrder = ['pay']
      getStepDefinition() {}
    }
    for (const foreign of [new OtherFlow(), { flow: new OtherFlow(), routes: [] }]) {
      expect(refusal(foreign, undefined)).toMatchObject({
        code: 'SF122',
        message: 'EdgeWorker.start was given a flow that the Flow class of @starflow/dsl did not make: "orders".',
      })
    }
  })

  it('takes a flow of a second copy of @starflow/dsl', async () => {
    vi.resetModules()
    const copy = await import('@starflow/dsl')
    expect(copy.Flow).not.toBe(Flow)
    const theirs = new copy.Flow({ slug: 'theirs' }).step({ slug: 'pay' }, () => 1)
    expect(subscriptionOf(theirs, undefined)).toMatchObject({ kind: 'flow', flowSlug: 'theirs' })
    expect(subscriptionOf(copy.withStepQueues(theirs), 'pay')).toMatchObject({ kind: 'step', flowSlug: 'theirs' })
  })

  it('refuses a wait, and lists the steps that workers run', () => {
    const waiting = withStepQueues(flow.wait({ slug: 'approve', dependsOn: ['classify'] }))
    expect(refusal(waiting, 'approve')).toMatchObject({
      code: 'SF119',
      hint: 'Steps that workers run: classify, deliverSlack.',
    })
    expect(refusal(waiting, undefined)).toMatchObject({ detail: 'Its steps are: classify, deliverSlack.' })
  })

  it('leaves waits out of the steps that a worker of the whole flow runs, and out of the routes', () => {
    const waiting = flow.wait({ slug: 'approve', timeout: 86_400 })
    expect(subscribedSteps(subscriptionOf(waiting, undefined)).map(({ slug }) => slug)).toEqual(flow.stepOrder)
    const { routeMap } = subscriptionOf(withStepQueues(waiting), 'classify') as StepSubscription
    expect(routeMap.map(({ stepSlug }) => stepSlug)).toEqual(flow.stepOrder)
  })

  it('refuses a step slug for a plain flow', () => {
    expect(refusal(flow, 'classify')).toMatchObject({ code: 'SF115', hint: expect.stringContaining('withStepQueues') })
  })

  for (const stepSlug of ['deliverslack', 'constructor', 7]) {
    it(`refuses ${JSON.stringify(stepSlug)} and lists the steps there are`, () => {
      expect(refusal(stepQueued, stepSlug)).toMatchObject({
        code: 'SF107',
        hint: 'Its steps are: classify, deliverSlack.',
      })
    })
  }

  for (const nothing of [undefined, null, {}, () => {}]) {
    it(`refuses ${String(nothing)} for a flow`, () => {
      expect(refusal(nothing, undefined)?.code).toBe('SF001')
    })
  }

  it('knows two subscriptions to one queue', () => {
    const keys = ['classify', 'classify', 'deliverSlack'].map((slug) =>
      subscriptionKey(subscriptionOf(stepQueued, slug)),
    )
    expect([keys[0] === keys[1], keys[0] === keys[2]]).toEqual([true, false])
  })
})

import { describe, expect, it, vi } from 'vitest'
import { defineWorkers, ForeignFlowError, isFlow, Flow as OurFlow, requireFlow, withStepQueues } from './index.ts'

/** What another library's class may look like: it has all that a flow has, but who made it. */
class OtherFlow {
  readonly slug = 'orders'
  readonly options = {}
  readonly stepOrder = ['pay']
  getStepDefinition() {
    return { slug: 'pay', handler: () => 1, dependencies: [], options: {} }
  }
}

const foreign = new OtherFlow() as never
const ours = new OurFlow({ slug: 'ours' }).step({ slug: 'pay' }, () => 1)

describe('a flow of another library', () => {
  it.each([
    ['withStepQueues', () => withStepQueues(foreign)],
    ['defineWorkers', () => defineWorkers(foreign, {} as never)],
    ['defineWorkers', () => defineWorkers({ ...withStepQueues(ours), flow: foreign } as never, {} as never)],
    ['withStepQueues', () => withStepQueues({ flow: foreign, routes: [] } as never)],
    ['The engine', () => requireFlow('The engine', foreign)],
  ])('is refused by %s, with its class and the way out', (taker, act) => {
    expect(act).toThrow(ForeignFlowError)
    expect(act).toThrow(
      expect.objectContaining({
        code: 'SF122',
        message: `${taker} was given a flow that the Flow class of @starflow/dsl did not make: "orders".`,
        detail: 'It is an object of class OtherFlow, from another library or another version of @starflow/dsl.',
        hint: "Make the flow with: import { Flow } from '@starflow/dsl'. Give all packages of @starflow the same version.",
        flowSlug: 'orders',
      }),
    )
  })
})

describe('a flow of a second copy of this package, of the same version', async () => {
  vi.resetModules()
  const copy = await import('./index.ts')
  const theirs = new copy.Flow({ slug: 'theirs' }).step({ slug: 'pay' }, () => 1)

  it('is one of ours', () => {
    expect(copy.Flow).not.toBe(OurFlow)
    expect(theirs).not.toBeInstanceOf(OurFlow)
    expect(isFlow(theirs)).toBe(true)
  })

  it('gets step queues and worker settings, whichever copy gives them', () => {
    const queued = withStepQueues(theirs as never)
    expect(defineWorkers(copy.withStepQueues(theirs) as never, {}).flow.routes).toEqual(queued.routes)
  })
})

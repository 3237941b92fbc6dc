import { describe, expect, it } from 'vitest'
import {
  DuplicateQueueRouteError,
  DuplicateStepSlugError,
  defaultQueueName,
  defineWorkers,
  EmptyStepQueuedFlowError,
  externalStep,
  Flow,
  FlowQueueNameError,
  isStepQueuedFlow,
  StepQueueError,
  StepQueueNameError,
  withStepQueues,
} from './index.ts'

const flow = new Flow<{ text: string }>({ slug: 'communityThreadsV1' })
  .step({ slug: 'classify' }, () => 'help')
  .step({ slug: 'deliverSlack', dependsOn: ['classify'] }, () => null)

describe('withStepQueues', () => {
  it('keeps the flow and derives one route per step, in order', () => {
    const queued = withStepQueues(flow)
    expect(queued.flow).toBe(flow)
    expect(queued.routes).toEqual([
      { stepSlug: 'classify', stepIndex: 0, queueName: 'communitythreadsv1__classify' },
      { stepSlug: 'deliverSlack', stepIndex: 1, queueName: 'communitythreadsv1__deliverslack' },
    ])
  })

  it('what it returns is frozen through', () => {
    const queued = withStepQueues(flow)
    expect([queued, queued.routes, ...queued.routes].every((part) => Object.isFrozen(part))).toBe(true)
    expect(() => ((queued.routes[0] as { queueName: string }).queueName = 'other')).toThrow(TypeError)
    expect(() => (queued.routes as unknown[]).push({})).toThrow(TypeError)
  })

  it('is recognised across copies of the package, and nothing else is', () => {
    const fromAnotherCopy = { flow, routes: [], [Symbol.for('starflow.stepQueuedFlow')]: true }
    expect(isStepQueuedFlow(withStepQueues(flow))).toBe(true)
    expect(isStepQueuedFlow(fromAnotherCopy)).toBe(true)
    for (const other of [flow, undefined, null, 'x', { flow, routes: [] }]) expect(isStepQueuedFlow(other)).toBe(false)
  })

  it('a refused flow throws before anything is made, with every number', () => {
    const slug = 'f'.repeat(44)
    const tenSteps = [...'abcdefghij'].reduce((longer, letter) => addStep(longer, letter), new Flow({ slug }))
    const error = thrownBy(() => withStepQueues(addStep(tenSteps, 'deliverSlack')))
    expect(error).toBeInstanceOf(StepQueueNameError)
    expect(error).toBeInstanceOf(StepQueueError)
    const facts = {
      flowSlug: slug,
      stepSlug: 'deliverSlack',
      stepIndex: 10,
      readableName: `${slug}__deliverslack`,
      readableLength: 58,
      fallbackName: `${slug}__10`,
      fallbackLength: 48,
      maxLength: 47,
    }
    expect(error).toMatchObject({ ...facts, fields: facts })
  })

  it('a flow slug that is too long is told apart from a step slug that is', () => {
    const slug = 'f'.repeat(45)
    const error = thrownBy(() => withStepQueues(new Flow({ slug }).step({ slug: 'a' }, () => null)))
    expect(error).toBeInstanceOf(FlowQueueNameError)
    const facts = {
      flowSlug: slug,
      stepSlug: 'a',
      stepIndex: 0,
      readableName: `${slug}__a`,
      readableLength: 48,
      fallbackName: `${slug}__0`,
      fallbackLength: 48,
      maxLength: 47,
    }
    expect(error).toMatchObject({ code: 'SF101', ...facts, fields: facts })
  })

  it('an empty flow is refused', () => {
    expect(thrownBy(() => withStepQueues(new Flow({ slug: 'empty' })))).toBeInstanceOf(EmptyStepQueuedFlowError)
  })

  it('duplicates are refused even in a flow of another making', () => {
    const foreign = (slug: string, stepOrder: string[]) =>
      Object.create(flow, {
        slug: { value: slug },
        stepOrder: { value: stepOrder },
        getStepDefinition: { value: () => null },
      }) as never
    expect(thrownBy(() => withStepQueues(foreign('x', ['aB', 'Ab'])))).toBeInstanceOf(DuplicateStepSlugError)
    const collision = thrownBy(() => withStepQueues(foreign('x', ['1', 'a'.repeat(60)])))
    expect(collision).toBeInstanceOf(DuplicateQueueRouteError)
    expect(collision).toMatchObject({ code: 'SF105', otherStepSlug: '1', queueName: 'x__1' })
  })

  it('what is not a plain flow is refused with the way out', () => {
    expect(thrownBy(() => withStepQueues(withStepQueues(flow) as never))).toMatchObject({
      code: 'SF001',
      message: 'This flow has step queues already.',
    })
    expect(thrownBy(() => withStepQueues('orders' as never))).toMatchObject({ code: 'SF001' })
    expect(thrownBy(() => withStepQueues(undefined as never))).toMatchObject({ code: 'SF001' })
  })
})

it('a plain flow has one queue, its slug in lowercase', () => {
  expect(defaultQueueName('communityThreadsV1')).toBe('communitythreadsv1')
})

describe('a flow with steps that only runners can run', () => {
  const reports = new Flow({ slug: 'reports' })
    .sessionRead({ slug: 'before', key: 'count' })
    .step({ slug: 'render' }, externalStep('render'))
    .step({ slug: 'mail' }, () => 1)
    .sessionWrite({ slug: 'after', dependsOn: ['mail'], key: 'count' }, () => 1)

  it('has no step queues: its steps are named', () => {
    expect(() => withStepQueues(reports as never)).toThrow(
      expect.objectContaining({
        code: 'SF123',
        message: 'Flow "reports" runs on runners only: "before", "render", "after".',
      }),
    )
  })
})

describe('defineWorkers', () => {
  const queued = withStepQueues(flow)

  it('returns the flow and its settings, frozen', () => {
    const workers = defineWorkers(queued, {
      classify: { maxConcurrent: 4 },
      deliverSlack: { instances: 3, batchSize: 1 },
    })
    expect(workers.flow).toBe(queued)
    expect({ ...workers.settings }).toEqual({
      classify: { maxConcurrent: 4 },
      deliverSlack: { instances: 3, batchSize: 1 },
    })
    for (const part of [workers, workers.settings, workers.settings.classify]) expect(part).toSatisfy(Object.isFrozen)
  })

  it('a step may be left out', () => {
    expect(defineWorkers(queued, { classify: undefined }).settings).toEqual({})
  })

  it('an unknown step is answered with those that there are', () => {
    expect(thrownBy(() => defineWorkers(queued, { clasify: {} } as never))).toMatchObject({
      code: 'SF107',
      hint: 'Its steps are: classify, deliverSlack.',
    })
  })

  it('settings are not looked up among what every object has', () => {
    expect(thrownBy(() => defineWorkers(queued, { constructor: {} } as never))).toMatchObject({ code: 'SF107' })
    expect((defineWorkers(queued, {}).settings as Record<string, unknown>).constructor).toBeUndefined()
  })

  it.each([
    ['maxConcurrent', 0],
    ['maxConcurrent', 1.5],
    ['batchSize', -1],
    ['instances', 21],
    ['instances', 0],
    ['maxPgConnections', Number.NaN],
    ['maxPgConnections', '4'],
    ['onUnsupportedMessage', 'stop'],
    ['queue', 'mine'],
  ])('%s of %s is refused', (option, value) => {
    expect(thrownBy(() => defineWorkers(queued, { classify: { [option]: value } } as never))).toMatchObject({
      code: 'SF113',
      option,
    })
  })

  it.each([1, 20])('%d instances are accepted', (instances) => {
    expect(defineWorkers(queued, { classify: { instances } }).settings.classify).toEqual({ instances })
  })

  it.each(['skip', 'halt'] as const)("a worker may be told to %s what is nobody's work", (onUnsupportedMessage) => {
    expect(defineWorkers(queued, { classify: { onUnsupportedMessage } }).settings.classify).toEqual({
      onUnsupportedMessage,
    })
  })

  it('a plain flow is refused with the way out', () => {
    expect(thrownBy(() => defineWorkers(flow as never, {} as never))).toMatchObject({ code: 'SF001' })
  })
})

function addStep(to: Flow, slug: string): Flow {
  return to.step({ slug }, () => null) as unknown as Flow
}

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}

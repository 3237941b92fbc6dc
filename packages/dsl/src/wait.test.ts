import { isStarflowError } from '@starflow/errors'
import { describe, expect, it } from 'vitest'
import {
  defineWorkers,
  EmptyStepQueuedFlowError,
  extractFlowShape,
  Flow,
  StepIsWaitError,
  unchecked,
  withStepQueues,
} from './index.ts'

const payload = unchecked<{ approved: boolean }>()
const flow = new Flow<{ title: string }>({ slug: 'drafts' })
  .step({ slug: 'draft' }, () => 'text')
  .wait({ slug: 'approve', dependsOn: ['draft'], timeout: 60, whenExhausted: 'skip', payload })
  .step({ slug: 'publish', dependsOn: ['approve'] }, () => null)

describe('a wait', () => {
  it('is a step without a handler, frozen, with its payload', () => {
    const wait = flow.getStepDefinition('approve')
    expect(wait).toEqual({
      slug: 'approve',
      index: 1,
      stepType: 'wait',
      dependencies: ['draft'],
      requiredInputPattern: undefined,
      forbiddenInputPattern: undefined,
      whenUnmet: 'skip',
      whenExhausted: 'skip',
      options: { timeout: 60 },
      payload,
    })
    expect(wait).toSatisfy(Object.isFrozen)
    expect(wait).not.toHaveProperty('handler')
  })

  it('travels in the shape as a type of its own, with its timeout and without its payload', () => {
    expect(extractFlowShape(flow).steps[1]).toStrictEqual({
      slug: 'approve',
      stepType: 'wait',
      dependencies: ['draft'],
      whenUnmet: 'skip',
      whenExhausted: 'skip',
      requiredInputPattern: { defined: false },
      forbiddenInputPattern: { defined: false },
      options: { timeout: 60 },
    })
  })

  it.each(['maxAttempts', 'baseDelay', 'maxDelay', 'startDelay', 'transactional', 'array', 'queue'])(
    'refuses the option %s and names those it has',
    (option) => {
      const error = refusalOf(() => flow.wait({ slug: 'other', [option]: 1 } as { slug: 'other' }))
      expect(error).toMatchObject({ code: 'SF113', option })
      expect(error.hint).toBe(
        'The options are: slug, dependsOn, if, ifNot, whenUnmet, whenExhausted, timeout, payload.',
      )
    },
  )

  it.each([0, -1, 1.5, '60', null, 2_147_483_648])('refuses a timeout of %j', (timeout) => {
    expect(refusalOf(() => flow.wait({ slug: 'other', timeout: timeout as number }))).toMatchObject({
      code: 'SF113',
      option: 'timeout',
    })
  })

  it('refuses a payload that is no schema, an unknown dependency and a slug that is taken', () => {
    expect(refusalOf(() => flow.wait({ slug: 'other', payload: {} as never }))).toMatchObject({
      code: 'SF113',
      option: 'payload',
    })
    expect(refusalOf(() => flow.wait({ slug: 'other', dependsOn: ['drft' as 'draft'] }))).toMatchObject({
      code: 'SF112',
    })
    expect(refusalOf(() => flow.wait({ slug: 'APPROVE' }))).toMatchObject({ code: 'SF104' })
  })
})

describe('a wait in a step-queued flow', () => {
  it('has no route, and keeps its index', () => {
    expect(withStepQueues(flow).routes).toEqual([
      { stepSlug: 'draft', stepIndex: 0, queueName: 'drafts__draft' },
      { stepSlug: 'publish', stepIndex: 2, queueName: 'drafts__publish' },
    ])
  })

  it('may have a name that no queue could have', () => {
    const slug = 'w'.repeat(100)
    const long = new Flow({ slug: 'f'.repeat(43) }).step({ slug: 'a' }, () => 1)
    const full = Array.from({ length: 9 }, (_, at) => at).reduce<typeof long>(
      (longer, at) => longer.wait({ slug: `w${at}` }) as unknown as typeof long,
      long,
    )
    expect(withStepQueues(full.wait({ slug })).routes).toHaveLength(1)
  })

  it('is refused with the steps that workers run, where worker settings are given', () => {
    const error = refusalOf(() => defineWorkers(withStepQueues(flow), { approve: {} } as object))
    expect(error).toBeInstanceOf(StepIsWaitError)
    expect(error).toMatchObject({
      code: 'SF119',
      message: 'Step "approve" of flow "drafts" is a wait: no worker runs it.',
      hint: 'Steps that workers run: draft, publish.',
    })
  })

  it('does not make one alone: nobody would compile the flow', () => {
    const error = refusalOf(() => withStepQueues(new Flow({ slug: 'only' }).wait({ slug: 'approve' })))
    expect(error).toBeInstanceOf(EmptyStepQueuedFlowError)
    expect(error.message).toBe('Flow "only" has no steps but waits, so it cannot use per-step queues.')
  })
})

it('a schema that checks nothing takes what it is given', () => {
  expect(payload['~standard'].validate({ approved: true })).toEqual({ value: { approved: true } })
})

function refusalOf(act: () => unknown) {
  try {
    act()
  } catch (error) {
    if (isStarflowError(error)) return error
    throw error
  }
  throw new Error('nothing was refused')
}

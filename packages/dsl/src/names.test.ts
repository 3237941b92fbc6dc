import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  brokenSlugRule,
  Flow,
  InvalidSlugError,
  isValidSlug,
  MAX_QUEUE_NAME_LENGTH,
  StepQueueError,
  withStepQueues,
} from './index.ts'

interface NameVectors {
  maxQueueNameLength: number
  slugs: { valid: string[]; invalid: { slug: string; reason: string }[] }
  queueNames: {
    claim: string
    flow: string
    steps: string[]
    queues?: string[]
    error?: { code: string; message?: string; detail?: string; hint?: string }
  }[]
}

const vectors = JSON.parse(readFileSync(new URL('../vectors/names.json', import.meta.url), 'utf8')) as NameVectors

describe('the slug contract', () => {
  it.each(vectors.slugs.valid)('accepts %j for a flow and for a step', (slug) => {
    expect(isValidSlug(slug)).toBe(true)
    expect(new Flow({ slug }).step({ slug }, () => null).stepOrder).toEqual([slug])
  })

  it.each(vectors.slugs.invalid)('refuses $slug: $reason', ({ slug, reason }) => {
    expect(brokenSlugRule(slug)).toBe(reason)
    expect(() => new Flow({ slug })).toThrow(InvalidSlugError)
    expect(() => new Flow({ slug: 'flow' }).step({ slug }, () => null)).toThrow(InvalidSlugError)
  })
})

describe('queue names', () => {
  it('the limit is the one of the vectors', () => {
    expect(MAX_QUEUE_NAME_LENGTH).toBe(vectors.maxQueueNameLength)
  })

  it.each(vectors.queueNames)('$claim', ({ flow: flowSlug, steps, queues, error }) => {
    const resolve = () => withStepQueues(flowOf(flowSlug, steps)).routes
    if (error === undefined) {
      expect(resolve()).toEqual(
        steps.map((stepSlug, stepIndex) => ({ stepSlug, stepIndex, queueName: queues?.[stepIndex] })),
      )
      return
    }
    const refusal = thrownBy(resolve)
    expect(refusal).toBeInstanceOf(StepQueueError)
    expect(refusal).toMatchObject(error)
  })
})

function flowOf(flowSlug: string, steps: readonly string[]): Flow {
  return steps.reduce<Flow>(
    (flow, slug) => flow.step({ slug }, () => null) as unknown as Flow,
    new Flow({ slug: flowSlug }),
  )
}

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}

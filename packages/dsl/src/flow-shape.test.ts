import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { extractFlowShape, Flow } from './index.ts'

const defaults = {
  stepType: 'single',
  dependencies: [],
  whenUnmet: 'skip',
  whenExhausted: 'fail',
  requiredInputPattern: { defined: false },
  forbiddenInputPattern: { defined: false },
}

describe('extractFlowShape', () => {
  it('a plain step has every structural key, and no options', () => {
    const flow = new Flow({ slug: 'orders' }).step({ slug: 'a' }, () => null)
    expect(extractFlowShape(flow)).toStrictEqual({ steps: [{ slug: 'a', ...defaults }] })
  })

  it('carries type, sorted dependencies, skip modes, patterns and what was set', () => {
    const flow = new Flow<{ kind: string }>({ slug: 'orders', maxAttempts: 3, baseDelay: 0, maxDelay: 90, timeout: 60 })
      .array({ slug: 'b' }, () => [1])
      .step({ slug: 'B2' }, () => 2)
      .step({ slug: 'a', if: { kind: 'x' }, ifNot: { kind: 'y' }, whenUnmet: 'skip-cascade' }, () => 3)
      .map({ slug: 'm', array: 'b', whenExhausted: 'skip', startDelay: 4 }, (n) => n)
      .step(
        { slug: 'end', dependsOn: ['b', 'a', 'B2'], maxAttempts: 0, baseDelay: 1, maxDelay: 2, timeout: 3 },
        () => 4,
      )
    expect(extractFlowShape(flow)).toStrictEqual({
      steps: [
        { ...defaults, slug: 'b' },
        { ...defaults, slug: 'B2' },
        {
          ...defaults,
          slug: 'a',
          whenUnmet: 'skip-cascade',
          requiredInputPattern: { defined: true, value: { kind: 'x' } },
          forbiddenInputPattern: { defined: true, value: { kind: 'y' } },
        },
        {
          ...defaults,
          slug: 'm',
          stepType: 'map',
          dependencies: ['b'],
          whenExhausted: 'skip',
          options: { startDelay: 4 },
        },
        {
          ...defaults,
          slug: 'end',
          dependencies: ['B2', 'a', 'b'],
          options: { maxAttempts: 0, baseDelay: 1, maxDelay: 2, timeout: 3 },
        },
      ],
      options: { maxAttempts: 3, baseDelay: 0, maxDelay: 90, timeout: 60 },
    })
  })

  it('is JSON', () => {
    const flow = new Flow<{ a: string }>({ slug: 'orders', timeout: 3 }).step({ slug: 'a', if: { a: 'x' } }, () => null)
    const shape = extractFlowShape(flow)
    expect(JSON.parse(JSON.stringify(shape))).toStrictEqual(shape)
  })

  it('carries the JSON Schema of the input when the library can tell', () => {
    const flow = new Flow({ slug: 'orders', input: z.object({ url: z.string() }) }).step({ slug: 'a' }, () => null)
    expect(extractFlowShape(flow).inputSchema).toMatchObject({
      type: 'object',
      properties: { url: { type: 'string' } },
      required: ['url'],
    })
  })

  it.each([
    ['toJSONSchema', () => ({ type: 'string' })],
    ['toJsonSchema', () => ({ type: 'string' })],
  ])('asks a library that only has %s', (method, emit) => {
    const flow = new Flow({ slug: 'orders', input: { ...anySchema, [method]: emit } })
    expect(extractFlowShape(flow).inputSchema).toEqual({ type: 'string' })
  })

  it('leaves the schema out when the library cannot tell or JSON Schema cannot express it', () => {
    expect(extractFlowShape(new Flow({ slug: 'orders', input: anySchema }))).not.toHaveProperty('inputSchema')
    const dates = new Flow({ slug: 'orders', input: z.date() })
    expect(extractFlowShape(dates)).not.toHaveProperty('inputSchema')
  })
})

const anySchema = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const

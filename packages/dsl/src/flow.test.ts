import { isStarflowError } from '@starflow/errors'
import { describe, expect, it } from 'vitest'
import {
  DuplicateStepSlugError,
  extractFlowShape,
  Flow,
  type HandledStep,
  InvalidDependencyError,
  InvalidSlugError,
  InvalidStepOptionError,
  UnknownStepError,
} from './index.ts'

const handler = () => null

describe('chaining', () => {
  it('a method gives a new flow and leaves the old one as it is', () => {
    const one = new Flow({ slug: 'orders' }).step({ slug: 'a' }, handler)
    const two = one.step({ slug: 'b' }, handler)
    const other = one.step({ slug: 'c' }, handler)
    expect([one.stepOrder, two.stepOrder, other.stepOrder]).toEqual([['a'], ['a', 'b'], ['a', 'c']])
    expect(() => one.getStepDefinition('b')).toThrow(UnknownStepError)
  })

  it('stepOrder and definitions are frozen', () => {
    const flow = new Flow({ slug: 'orders' }).step({ slug: 'a' }, handler)
    expect(() => (flow.stepOrder as string[]).push('b')).toThrow(TypeError)
    expect(new Flow({ slug: 'orders' }).stepOrder).toSatisfy(Object.isFrozen)
    expect(flow.getStepDefinition('a')).toSatisfy(Object.isFrozen)
    expect(flow.getStepDefinition('a').dependencies).toSatisfy(Object.isFrozen)
    expect(flow.getStepDefinition('a').options).toSatisfy(Object.isFrozen)
  })

  it('options and schema stay with the flow', () => {
    const flow = new Flow({ slug: 'orders', maxAttempts: 4, maxDelay: 60 }).step({ slug: 'a' }, handler)
    expect(flow.options).toEqual({ maxAttempts: 4, maxDelay: 60 })
  })

  it('a definition holds what was written, and the handler', () => {
    const flow = new Flow<string[]>({ slug: 'orders' })
      .array({ slug: 'a', startDelay: 5 }, (input) => input)
      .map({ slug: 'b', array: 'a', whenExhausted: 'skip' }, (element) => element.length)
      .step(
        { slug: 'c', dependsOn: ['b', 'a'], if: { a: ['x'] }, whenUnmet: 'fail', timeout: 9 },
        ({ b = [] }) => b.length,
      )
    expect(flow.stepOrder.map((slug) => flow.getStepDefinition(slug))).toMatchObject([
      { slug: 'a', index: 0, stepType: 'single', dependencies: [], options: { startDelay: 5 } },
      { slug: 'b', index: 1, stepType: 'map', dependencies: ['a'], whenUnmet: 'skip', whenExhausted: 'skip' },
      { slug: 'c', index: 2, stepType: 'single', dependencies: ['b', 'a'], whenUnmet: 'fail', whenExhausted: 'fail' },
    ])
    const map = flow.getStepDefinition('b') as HandledStep
    expect(map.handler('abc', undefined)).toBe(3)
  })

  it.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'wait'])('a step may be called %s', (slug) => {
    const flow = new Flow({ slug: 'orders' }).step({ slug }, handler)
    expect(flow.getStepDefinition(slug).slug).toBe(slug)
    expect(() => new Flow({ slug: 'orders' }).getStepDefinition(slug)).toThrow(UnknownStepError)
  })

  it('a pattern cannot be changed afterwards', () => {
    const pattern = { text: 'x' }
    const flow = new Flow<{ text: string }>({ slug: 'orders' }).step({ slug: 'a', if: pattern }, handler)
    pattern.text = 'y'
    expect(flow.getStepDefinition('a').requiredInputPattern).toEqual({ text: 'x' })
    expect(flow.getStepDefinition('a').requiredInputPattern).toSatisfy(Object.isFrozen)
  })
})

describe('refusals', () => {
  const flow = new Flow<{ text: string }>({ slug: 'orders' })
    .step({ slug: 'sendMail' }, handler)
    .array({ slug: 'list' }, () => [])

  it('an unknown step is answered with those that there are', () => {
    expect(refusalOf(() => flow.getStepDefinition('sendmail'))).toMatchObject({
      code: 'SF107',
      message: 'Flow "orders" has no step "sendmail".',
      hint: 'Its steps are: sendMail, list.',
    })
  })

  it('a slug is refused by name and rule', () => {
    const error = refusalOf(() => new Flow({ slug: 'my__flow' }))
    expect(error).toBeInstanceOf(InvalidSlugError)
    expect(error).toMatchObject({ code: 'SF106', kind: 'flow', slug: 'my__flow', rule: 'double-underscore' })
    expect(error.message).toBe('The flow slug "my__flow" is not valid.')
    expect(refusalOf(() => new Flow({} as never))).toMatchObject({ code: 'SF106', rule: 'not-text' })
  })

  it.each(['sendMail', 'sendmail', 'SENDMAIL'])('a second step called %s is refused in every flow', (slug) => {
    const error = refusalOf(() => flow.step({ slug: slug as 'other' }, handler))
    expect(error).toBeInstanceOf(DuplicateStepSlugError)
    expect(error).toMatchObject({ code: 'SF104', flowSlug: 'orders', stepSlug: slug, existingSlug: 'sendMail' })
  })

  it('an unknown dependency is answered with the steps before', () => {
    const error = refusalOf(() => flow.step({ slug: 'a', dependsOn: ['lst' as 'list'] }, handler))
    expect(error).toBeInstanceOf(InvalidDependencyError)
    expect(error).toMatchObject({ code: 'SF112', hint: 'The steps before it are: sendMail, list.' })
    expect(error.message).toContain('"lst"')
  })

  it('a step cannot depend on itself, nor twice on another', () => {
    expect(refusalOf(() => flow.step({ slug: 'a', dependsOn: ['a' as 'list'] }, handler))).toMatchObject({
      code: 'SF112',
    })
    expect(refusalOf(() => flow.step({ slug: 'a', dependsOn: ['list', 'list'] }, handler)).message).toContain('twice')
  })

  it.each(['if', 'ifNot'] as const)('a condition `%s` on a step that is no dependency is refused', (option) => {
    const named = (slug: string, condition: object) =>
      flow.step({ slug: 'a', dependsOn: ['list'], [option]: { [slug]: condition } }, handler)
    const error = refusalOf(() => named('lsit', ['x']))
    expect(error).toBeInstanceOf(InvalidDependencyError)
    expect(error).toMatchObject({ code: 'SF112', flowSlug: 'orders', stepSlug: 'a' })
    expect(error.message).toContain('"lsit"')
    expect(error.hint).toContain('It depends on: list.')
    expect(refusalOf(() => named('sendMail', {}))).toMatchObject({ code: 'SF112' })
    expect(named('list', ['x']).stepOrder).toContain('a')
    const map = { slug: 'a', array: 'list', [option]: { lsit: ['x'] } } as unknown as { slug: 'a'; array: 'list' }
    expect(refusalOf(() => flow.map(map, handler))).toMatchObject({ code: 'SF112' })
    expect(flow.step({ slug: 'a', [option]: { anything: 1 } }, handler).stepOrder).toContain('a')
  })

  it('a map of several dependencies is refused in the words of the SQL interface', () => {
    const options = { slug: 'a', dependsOn: ['sendMail', 'list'] } as unknown as { slug: 'a'; array: 'list' }
    expect(refusalOf(() => flow.map(options, handler))).toMatchObject({
      code: 'SF112',
      message: 'Map step "a" can have at most one dependency, but 2 were provided: sendMail, list',
    })
  })

  it.each([
    ['maxAttempts', -1],
    ['maxAttempts', 1.5],
    ['maxAttempts', Number.NaN],
    ['maxAttempts', '3'],
    ['maxAttempts', null],
    ['baseDelay', -1],
    ['baseDelay', 2_147_483_648],
    ['maxDelay', Number.POSITIVE_INFINITY],
    ['timeout', 0],
    ['timeout', -5],
  ])('%s of %s is refused for a flow and for a step', (option, value) => {
    for (const act of [
      () => new Flow({ slug: 'x', [option]: value }),
      () => flow.step({ slug: 'a', [option]: value }, handler),
    ]) {
      const error = refusalOf(act)
      expect(error).toBeInstanceOf(InvalidStepOptionError)
      expect(error).toMatchObject({ code: 'SF113', option })
      expect(error.message).toContain(option)
      expect(error.detail).toMatch(/must be an integer from [01] to 2147483647/)
    }
  })

  it.each([
    ['maxAttempts', 0],
    ['baseDelay', 0],
    ['maxDelay', 0],
    ['timeout', 1],
    ['timeout', 2_147_483_647],
  ])('%s of %s is accepted', (option, value) => {
    expect(new Flow({ slug: 'x', [option]: value }).options).toEqual({ [option]: value })
  })

  it('a step is transactional when it says so, and its shape is the same', () => {
    const transactional = flow.step({ slug: 'a', transactional: true }, handler)
    expect(transactional.getStepDefinition('a')).toMatchObject({ transactional: true })
    expect(flow.step({ slug: 'a' }, handler).getStepDefinition('a')).toMatchObject({ transactional: false })
    expect(extractFlowShape(transactional)).toEqual(extractFlowShape(flow.step({ slug: 'a' }, handler)))
    const options = { slug: 'a', transactional: 'yes' as unknown as boolean }
    expect(refusalOf(() => flow.step(options, handler))).toMatchObject({ code: 'SF113' })
  })

  it('startDelay is an option of steps only', () => {
    expect(flow.step({ slug: 'a', startDelay: 0 }, handler).getStepDefinition('a').options).toEqual({ startDelay: 0 })
    expect(refusalOf(() => flow.step({ slug: 'a', startDelay: -1 }, handler))).toMatchObject({ code: 'SF113' })
    expect(refusalOf(() => new Flow({ slug: 'x', startDelay: 1 } as { slug: string }))).toMatchObject({ code: 'SF113' })
  })

  it('an option that nobody reads is answered with the options that there are', () => {
    const error = refusalOf(() => flow.step({ slug: 'a', queue: 'mine' } as { slug: 'a' }, handler))
    expect(error).toMatchObject({ code: 'SF113', option: 'queue' })
    expect(error.hint).toContain('dependsOn')
  })

  it.each([
    ['whenUnmet', { if: { text: 'x' }, whenUnmet: 'ignore' }],
    ['whenExhausted', { whenExhausted: 'retry' }],
    ['whenUnmet', { whenUnmet: 'skip' }],
    ['if', { if: ['x'] }],
    ['if', { if: 'x' }],
    ['if', { if: null }],
    ['ifNot', { ifNot: { text: Number.NaN } }],
    ['if', { if: { text: () => 'x' } }],
    ['dependsOn', { dependsOn: 'list' }],
  ])('an impossible %s is refused: %j', (option, options) => {
    expect(refusalOf(() => flow.step({ slug: 'a', ...options } as { slug: 'a' }, handler))).toMatchObject({
      code: 'SF113',
      option,
    })
  })

  it('a map over the flow input has no pattern, and the hint says where one can go', () => {
    const options = { slug: 'a', if: { n: 1 } } as unknown as { slug: 'a' }
    const error = refusalOf(() => new Flow<{ n: number }[]>({ slug: 'list' }).map(options, handler))
    expect(error).toMatchObject({ code: 'SF113', option: 'if' })
    expect(error.hint).toContain('a step after this one')
  })

  it('a step without a handler and a schema that is none are refused', () => {
    expect(refusalOf(() => flow.step({ slug: 'a' }, undefined as never))).toMatchObject({ option: 'handler' })
    expect(refusalOf(() => new Flow({ slug: 'x', input: {} as never }))).toMatchObject({ option: 'input' })
    expect(refusalOf(() => new Flow({ slug: 'x', input: null as never }))).toMatchObject({ option: 'input' })
  })
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

import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from './codes.ts'
import { isStarflowError, StarflowError } from './starflow-error.ts'

const error = new StarflowError({
  code: 'SF107',
  message: 'Flow "orders" has no step "sned".',
  detail: 'Case counts.',
  hint: 'Its steps are: send.',
  fields: { flowSlug: 'orders' },
})

describe('StarflowError', () => {
  it('is an Error that carries four parts, and the name of its code', () => {
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'UnknownStepError',
      code: 'SF107',
      message: 'Flow "orders" has no step "sned".',
      detail: 'Case counts.',
      hint: 'Its steps are: send.',
      fields: { flowSlug: 'orders' },
    })
  })

  it('its fields are a frozen copy', () => {
    const fields = { flowSlug: 'orders' }
    const copy = new StarflowError({ code: 'SF201', message: 'x', fields })
    fields.flowSlug = 'changed'
    expect(copy.fields).toEqual({ flowSlug: 'orders' })
    expect(copy.fields).toSatisfy(Object.isFrozen)
  })

  it('keeps its cause', () => {
    const cause = new Error('socket closed')
    expect(new StarflowError({ code: 'SF201', message: 'x', cause }).cause).toBe(cause)
    expect('cause' in new StarflowError({ code: 'SF201', message: 'x' })).toBe(false)
  })

  it('is JSON with all its parts, without the absent ones, the cause or the stack', () => {
    expect(JSON.parse(JSON.stringify(error))).toStrictEqual({
      code: 'SF107',
      name: 'UnknownStepError',
      message: 'Flow "orders" has no step "sned".',
      detail: 'Case counts.',
      hint: 'Its steps are: send.',
      fields: { flowSlug: 'orders' },
    })
    const short = new StarflowError({ code: 'SF201', message: 'x', cause: new Error('y') })
    expect(JSON.parse(JSON.stringify(short))).toStrictEqual({
      code: 'SF201',
      name: 'FlowNotFoundError',
      message: 'x',
      fields: {},
    })
  })
})

describe('isStarflowError', () => {
  it('knows an error, its JSON and one from another copy of this package', async () => {
    const copyUrl = `${new URL('./starflow-error.ts', import.meta.url).href}?copy`
    const otherCopy: typeof import('./starflow-error.ts') = await import(copyUrl)
    const foreign = new otherCopy.StarflowError({ code: 'SF107', message: 'x' })
    expect(otherCopy.StarflowError).not.toBe(StarflowError)
    expect(foreign).not.toBeInstanceOf(StarflowError)
    for (const value of [error, foreign, JSON.parse(JSON.stringify(error))]) {
      expect(isStarflowError(value)).toBe(true)
      expect(isStarflowError(value, 'SF107')).toBe(true)
      expect(isStarflowError(value, 'SF101')).toBe(false)
    }
  })

  it.each([
    undefined,
    null,
    'SF107',
    new Error('x'),
    { code: 'SF000' },
    { code: 'toString' },
    { code: 107 },
    { code: '23505' },
  ])('is false for %j', (value) => expect(isStarflowError(value)).toBe(false))

  it('is false for a value whose every trap throws', () => {
    const trap = () => {
      throw new Error('trapped')
    }
    expect(isStarflowError(new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap }))).toBe(false)
  })

  it('no code is a name that every object has', () => {
    for (const code of Object.keys(ERROR_CODES)) expect(code).toMatch(/^SF\d{3}$/)
  })
})

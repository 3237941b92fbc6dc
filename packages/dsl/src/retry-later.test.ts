import { describe, expect, it } from 'vitest'
import { isNonRetryableError, isRetryLater, NonRetryableError, RetryLater, retryDelaySeconds } from './index.ts'

describe('RetryLater', () => {
  it.each([
    [0, 0],
    [7, 7],
    [0.2, 1],
    [86_400, 86_400],
  ])('a delay of %s is used as %s whole seconds', (delaySeconds, used) => {
    const error = new RetryLater({ delaySeconds, message: 'rate limited' })
    expect(retryDelaySeconds(error)).toBe(used)
    expect(error.message).toBe('rate limited')
  })

  it.each([Number.NaN, -1, 1e12, 86_400.5, Number.POSITIVE_INFINITY, '7', undefined, null])(
    'a delay of %s is not used: the attempt fails normally, and the message says so',
    (delaySeconds) => {
      const error = new RetryLater({ delaySeconds: delaySeconds as number, message: 'rate limited' })
      expect(retryDelaySeconds(error)).toBeUndefined()
      expect(isRetryLater(error)).toBe(true)
      expect(error.message).toContain('rate limited')
      expect(error.message).toContain(String(delaySeconds))
    },
  )

  it('a delay that was changed after construction is checked again', () => {
    expect(retryDelaySeconds(Object.assign(new RetryLater({ delaySeconds: 7 }), { delaySeconds: -1 }))).toBeUndefined()
  })

  it('is an Error with a cause', () => {
    const cause = new Error('429')
    expect(new RetryLater({ delaySeconds: 1, cause })).toMatchObject({ name: 'RetryLater', cause })
    expect(new RetryLater({ delaySeconds: 1 })).toBeInstanceOf(Error)
  })

  it('is recognised across copies of the package', () => {
    const fromAnotherCopy = Object.assign(new Error('x'), {
      [Symbol.for('starflow.retryLater')]: true,
      delaySeconds: 3,
    })
    expect(retryDelaySeconds(fromAnotherCopy)).toBe(3)
    for (const other of [new Error('x'), { delaySeconds: 3 }, undefined, null, 'x']) {
      expect(isRetryLater(other)).toBe(false)
      expect(retryDelaySeconds(other)).toBeUndefined()
    }
  })
})

describe('NonRetryableError', () => {
  it('is an Error with its message and cause', () => {
    const cause = new Error('404')
    const error = new NonRetryableError('there is no such user', { cause })
    expect(error).toMatchObject({ name: 'NonRetryableError', message: 'there is no such user', cause })
  })

  it('is recognised across copies of the package, and by subclasses', () => {
    class GoneError extends NonRetryableError {}
    expect(isNonRetryableError(new GoneError('x'))).toBe(true)
    expect(
      isNonRetryableError(Object.assign(new Error('x'), { [Symbol.for('starflow.nonRetryableError')]: true })),
    ).toBe(true)
    expect(isNonRetryableError(new Error('x'))).toBe(false)
    expect(isNonRetryableError(new RetryLater({ delaySeconds: 1 }))).toBe(false)
  })
})

describe('a thrown value whose every trap throws', () => {
  const trap = () => {
    throw new Error('trapped')
  }
  const hostile = new Proxy(new RetryLater({ delaySeconds: 7 }), { get: trap, has: trap, getPrototypeOf: trap })

  it('is neither error, and chooses no delay', () => {
    expect(isRetryLater(hostile)).toBe(false)
    expect(isNonRetryableError(hostile)).toBe(false)
    expect(retryDelaySeconds(hostile)).toBeUndefined()
  })

  it('chooses no delay where only the delay cannot be read', () => {
    const unreadable = Object.defineProperty(new RetryLater({ delaySeconds: 7 }), 'delaySeconds', { get: trap })
    expect(retryDelaySeconds(unreadable)).toBeUndefined()
  })
})

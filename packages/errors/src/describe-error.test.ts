import { describe, expect, it } from 'vitest'
import { describeError, MAX_ERROR_MESSAGE_LENGTH, MAX_ERROR_STACK_LENGTH } from './describe-error.ts'
import { StarflowError } from './starflow-error.ts'

describe('describeError', () => {
  it('keeps name, message and stack of an error', () => {
    const error = new TypeError('no such order')
    expect(describeError(error)).toEqual({ name: 'TypeError', message: 'no such order', stack: error.stack })
  })

  it('keeps the hint of a refusal of our own, and of nothing else', () => {
    const parts = {
      code: 'SF406',
      message: 'ctx.sql has no connection.',
      hint: 'Set maxPgConnections to 2 or more.',
    } as const
    expect(describeError(new StarflowError(parts)).message).toBe(
      'ctx.sql has no connection. Hint: Set maxPgConnections to 2 or more.',
    )
    expect(describeError(Object.assign(new Error('no table'), { code: '42P01', hint: 'look' })).message).toBe(
      'no table',
    )
  })

  it('keeps a thrown string as the message', () => {
    expect(describeError('out of paper')).toEqual({ name: 'NonErrorThrown', message: 'out of paper' })
  })

  for (const [shown, thrown] of [
    ['null', null],
    ['undefined', undefined],
    ['a symbol', Symbol('x')],
    ['a BigInt', 7n],
    ['a function', () => {}],
    ['an object without a prototype', Object.create(null)],
  ] as const) {
    it(`describes ${shown} in words`, () => {
      expect(describeError(thrown).message).toMatch(/^The handler threw/)
    })
  }

  it('survives a proxy whose every trap throws', () => {
    const trap = () => {
      throw new Error('trapped')
    }
    const hostile = new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap, ownKeys: trap })
    expect(describeError(hostile).message).toBe('The handler threw an object without a message.')
  })

  it('survives a revoked proxy', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(describeError(proxy).message).toMatch(/handler threw/)
  })

  it('tells the causes, and stops at one that is its own cause', () => {
    const error = new Error('fetch failed', { cause: new Error('connection refused') })
    expect(describeError(error).message).toBe('fetch failed (caused by) connection refused')
    const cyclic = new Error('round and round')
    cyclic.cause = cyclic
    expect(describeError(cyclic).message).toBe('round and round')
  })

  it('bounds message and stack', () => {
    const error = new Error('m'.repeat(1_000_000))
    error.stack = 's'.repeat(1_000_000)
    const described = describeError(error)
    expect(described.message).toHaveLength(MAX_ERROR_MESSAGE_LENGTH)
    expect(described.stack).toHaveLength(MAX_ERROR_STACK_LENGTH)
  })

  it('replaces NUL and lone surrogates, also one that the cut made', () => {
    const pair = '😀'
    expect(describeError(new Error(`a\0b\ud800c${pair}`)).message).toBe(`a\uFFFDb\uFFFDc${pair}`)
    const { message } = describeError(new Error('x'.repeat(MAX_ERROR_MESSAGE_LENGTH - 2) + pair.repeat(10)))
    expect(message.endsWith('\uFFFD…')).toBe(true)
  })
})

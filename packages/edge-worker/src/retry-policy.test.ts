import { describe, expect, it } from 'vitest'
import { resolveRetryPolicy, retryDelay } from './retry-policy.ts'

const policy = (config: object) => resolveRetryPolicy(config).policy
const delays = (config: object, attempts: number) =>
  Array.from({ length: attempts }, (_, index) => retryDelay(policy(config), index + 1))

describe('retryDelay', () => {
  it('doubles from the base up to the cap, and ends after the limit', () => {
    expect(delays({ limit: 4, baseDelay: 3, maxDelay: 20 }, 5)).toEqual([3, 6, 12, 20, undefined])
  })

  it('stays the same with a fixed strategy', () => {
    expect(delays({ strategy: 'fixed', limit: 2, baseDelay: 7 }, 3)).toEqual([7, 7, undefined])
  })

  it('lets the first failure be final', () => {
    expect(delays({ limit: 0 }, 1)).toEqual([undefined])
  })

  it('never overflows', () => {
    expect(retryDelay(policy({ limit: 100_000, maxDelay: 86_400 }), 99_999)).toBe(86_400)
  })
})

describe('resolveRetryPolicy', () => {
  it('has a default for everything', () => {
    expect(resolveRetryPolicy(undefined)).toEqual({
      policy: { strategy: 'exponential', limit: 5, baseDelay: 3, maxDelay: 300 },
      problems: [],
    })
  })

  it('raises the cap with a base that is above it', () => {
    expect(policy({ baseDelay: 1000 }).maxDelay).toBe(1000)
  })

  it('names every problem', () => {
    const { problems } = resolveRetryPolicy({ strategy: 'linear', limit: -1, baseDelay: 1.5, maxDelay: '9', delay: 1 })
    expect(problems.map((problem) => problem.match(/"retry\.(\w+)"/)?.[1])).toEqual([
      'delay',
      'strategy',
      'baseDelay',
      'limit',
      'maxDelay',
    ])
  })

  it('refuses what is no object', () => {
    expect(resolveRetryPolicy(3).problems).toHaveLength(1)
  })
})

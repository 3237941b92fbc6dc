import { expect, test } from 'vitest'
import { median, quantile } from './quantile.ts'

test('the median of an even number of samples is between the two in the middle', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5)
})

test('rounds without a figure are left out of its median', () => {
  expect(median([Number.NaN, 3, 1, 2])).toBe(2)
})

test('a quantile is the nearest sample above its part', () => {
  const samples = Array.from({ length: 100 }, (_, index) => 99 - index)
  expect([quantile(samples, 0.5), quantile(samples, 0.95), quantile(samples, 0.99)]).toEqual([50, 95, 99])
  expect(quantile([7], 0.99)).toBe(7)
})

test('there is no quantile and no median of nothing', () => {
  expect([quantile([], 0.5), median([])]).toEqual([Number.NaN, Number.NaN])
})

import { expect, test } from 'vitest'
import { lagTone, startsPerMinute, totalOf } from './run-rate.ts'

const minutes = (...started: number[]) => started.map((count) => ({ at: '', started: count, failed: count * 2 }))

test('the rate is that of the last five whole minutes', () => {
  expect(startsPerMinute(minutes(100, 1, 2, 3, 4, 5, 900))).toBe(3)
  expect(startsPerMinute(minutes(4, 2, 900))).toBe(3)
})

test('without a whole minute there is no rate', () => {
  expect(startsPerMinute(minutes(7))).toBe(0)
  expect(startsPerMinute([])).toBe(0)
})

test('the totals are those of all minutes', () => {
  expect(totalOf(minutes(1, 2), 'started')).toBe(3)
  expect(totalOf(minutes(1, 2), 'failed')).toBe(6)
})

test.each([
  [0, undefined],
  [1_999, undefined],
  [2_000, 'warn'],
  [29_999, 'warn'],
  [30_000, 'bad'],
])('a lag of %d ms is %s', (lag, tone) => {
  expect(lagTone(lag)).toBe(tone)
})

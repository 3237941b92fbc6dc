import { describe, expect, test } from 'vitest'
import { formatAge, formatDuration, formatFineDuration } from './duration.ts'

describe('a duration', () => {
  test.each([
    [0, '0 ms'],
    [12.4, '12 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [1_540, '1.5 s'],
    [9_960, '10 s'],
    [59_400, '59 s'],
    [59_600, '1 m 00 s'],
    [200_000, '3 m 20 s'],
    [3_599_400, '59 m 59 s'],
    [3_599_900, '1 h 00 m'],
    [7_500_000, '2 h 05 m'],
    [356_400_000, '4 d 3 h'],
    [-1_540, '−1.5 s'],
    [Number.NaN, '–'],
  ])('of %d ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})

describe('an age', () => {
  test.each([
    [-5_000, 'now'],
    [999, 'now'],
    [12_999, '12 s'],
    [60_000, '1 m'],
    [3_600_000, '1 h'],
    [100_000_000, '27 h'],
    [200_000_000, '2 d'],
  ])('of %d ms is %s', (ms, text) => {
    expect(formatAge(ms)).toBe(text)
  })
})

test.each([
  [0, '0.00 ms'],
  [0.314, '0.31 ms'],
  [9.994, '9.99 ms'],
  [9.996, '10.0 ms'],
  [99.94, '99.9 ms'],
  [99.96, '100 ms'],
  [1_540, '1.5 s'],
])('a fine duration of %d ms reads %s', (ms, text) => {
  expect(formatFineDuration(ms)).toBe(text)
})

import { expect, test } from 'vitest'
import { timeTicks } from './time-axis.ts'

const labels = (lengthMs: number, most = 6) => timeTicks(lengthMs, most).map(({ label }) => label)

test.each([
  [87, ['0', '20 ms', '40 ms', '60 ms', '80 ms']],
  [1200, ['0', '200 ms', '400 ms', '600 ms', '800 ms', '1 s', '1.2 s']],
  [4200, ['0', '1 s', '2 s', '3 s', '4 s']],
  [95_000, ['0', '30 s', '1 m', '1 m 30 s']],
  [3 * 60_000, ['0', '30 s', '1 m', '1 m 30 s', '2 m', '2 m 30 s', '3 m']],
  [5 * 3_600_000, ['0', '1 h', '2 h', '3 h', '4 h', '5 h']],
  [30 * 3_600_000, ['0', '6 h', '12 h', '18 h', '1 d', '1 d 6 h']],
  [9 * 86_400_000, ['0', '2 d', '4 d', '6 d', '8 d']],
])('an axis of %d ms is divided as people count', (lengthMs, expected) => {
  expect(labels(lengthMs)).toEqual(expected)
})

test('there are never more ticks than have room, but for zero', () => {
  for (let lengthMs = 1; lengthMs < 1e11; lengthMs = Math.ceil(lengthMs * 1.7)) {
    for (const most of [1, 3, 10]) expect(timeTicks(lengthMs, most).length).toBeLessThanOrEqual(most + 1)
  }
})

test('an axis without length has its zero', () => {
  expect(labels(0)).toEqual(['0'])
})

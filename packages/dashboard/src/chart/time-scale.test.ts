import { describe, expect, test } from 'vitest'
import { nearestPoint, niceMax, segments, timeTicks, usualGap } from './time-scale.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOON = Date.parse('2026-03-01T12:00:00Z')

test.each([
  [0, 1],
  [1, 1],
  [1.2, 2],
  [3, 3],
  [7, 8],
  [10, 10],
  [150, 200],
  [4_200, 6_000],
])('a chart of values up to %d ends with %d', (max, end) => {
  expect(niceMax(max)).toBe(end)
})

describe('ticks', () => {
  const clock = (ticks: readonly number[]) => ticks.map((at) => new Date(at).toISOString().slice(11, 16))

  test('are round instants within the range, never more than there is room for', () => {
    const range = { from: NOON - 47 * MINUTE, to: NOON + 13 * MINUTE }
    expect(clock(timeTicks(range, 6, 0))).toEqual(['11:20', '11:30', '11:40', '11:50', '12:00', '12:10'])
    expect(clock(timeTicks(range, 3, 0))).toEqual(['11:30', '12:00'])
  })

  test('of a week are days in the time of whoever looks', () => {
    const range = { from: NOON - 7 * 24 * HOUR, to: NOON }
    const ticks = timeTicks(range, 7, -120)
    expect(ticks).toHaveLength(7)
    expect(clock(ticks)).toEqual(Array(7).fill('22:00'))
  })

  test('of a range that is empty are none', () => {
    expect(timeTicks({ from: NOON + 1, to: NOON + 2 }, 5, 0)).toEqual([])
  })
})

test('the nearest point is told on both sides, and none of none', () => {
  const points = [{ at: 0 }, { at: 10 }, { at: 20 }]
  expect(nearestPoint(points, 14)).toEqual({ at: 10 })
  expect(nearestPoint(points, 16)).toEqual({ at: 20 })
  expect(nearestPoint([], 5)).toBeUndefined()
})

test('the usual distance is not that of a gap', () => {
  expect(usualGap([{ at: 0 }, { at: 10 }, { at: 20 }, { at: 500 }, { at: 510 }])).toBe(10)
  expect(usualGap([])).toBe(0)
})

test('a line breaks where nothing is known and where samples are missing', () => {
  const at = (minute: number, value: number | null) => ({ at: minute * MINUTE, value })
  const found = segments([at(0, 1), at(1, 2), at(2, null), at(3, 3), at(4, 4), at(9, 5)], 2 * MINUTE)
  expect(found.map((segment) => segment.map(({ value }) => value))).toEqual([[1, 2], [3, 4], [5]])
})

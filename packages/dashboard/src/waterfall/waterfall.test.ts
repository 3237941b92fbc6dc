import { describe, expect, test } from 'vitest'
import { type TimedAttempt, type TimedStep, waterfall } from './waterfall.ts'

const T0 = Date.parse('2026-01-01T00:00:00.000Z')
const at = (ms: number) => new Date(T0 + ms).toISOString()

function step(step: Partial<TimedStep>): TimedStep {
  return {
    step: 's',
    type: 'single',
    status: 'completed',
    readyAt: null,
    startedAt: null,
    endedAt: null,
    attempts: [],
    ...step,
  }
}
function attempt(attempt: Partial<TimedAttempt>): TimedAttempt {
  return {
    ...{ attempt: 1, status: 'completed', queuedAt: null, delayedUntil: null, startedAt: null, endedAt: null },
    ...attempt,
  }
}
const run = (steps: TimedStep[], endedAt: string | null = null) => ({ createdAt: at(0), endedAt, steps })
const portionsOf = (attempts: TimedAttempt[], nowMs: number) =>
  waterfall(run([step({ attempts })]), T0 + nowMs).rows.map(({ portions }) =>
    portions.map(({ kind, from, to, isOpen }) => [kind, from, to, isOpen]),
  )

describe('an attempt', () => {
  test('waits from when it could begin until it begins, and then runs', () => {
    const done = attempt({ queuedAt: at(10), startedAt: at(30), endedAt: at(100) })
    expect(portionsOf([done], 500)).toEqual([
      [
        ['waiting', 10, 30, false],
        ['running', 30, 100, false],
      ],
    ])
  })

  test('that has not begun waits until now', () => {
    expect(portionsOf([attempt({ queuedAt: at(10) })], 80)).toEqual([[['waiting', 10, 80, true]]])
  })

  test('that is held back is delayed first, and until then no longer than to now', () => {
    const held = attempt({ queuedAt: at(0), delayedUntil: at(50), startedAt: at(60) })
    expect(portionsOf([held], 100)).toEqual([
      [
        ['delayed', 0, 50, false],
        ['waiting', 50, 60, false],
        ['running', 60, 100, true],
      ],
    ])
    const still = attempt({ queuedAt: at(0), delayedUntil: at(5000) })
    expect(portionsOf([still], 100)).toEqual([[['delayed', 0, 100, true]]])
  })

  test('that took no time has a bar', () => {
    expect(portionsOf([attempt({ startedAt: at(5), endedAt: at(5) })], 9)).toEqual([[['running', 5, 5, false]]])
  })
})

test('a step that was tried more than once has a row for each attempt below its own', () => {
  const attempts = [
    attempt({ attempt: 1, status: 'failed', startedAt: at(0), endedAt: at(10) }),
    attempt({ attempt: 2, queuedAt: at(10), delayedUntil: at(20), startedAt: at(25), endedAt: at(40) }),
  ]
  const { rows } = waterfall(run([step({ attempts })], at(40)), T0 + 9999)
  expect(rows.map(({ id, attempt, status }) => [id, attempt, status])).toEqual([
    ['s', null, 'completed'],
    ['s#1', 1, 'failed'],
    ['s#2', 2, 'completed'],
  ])
  expect(rows[0]!.portions).toEqual([...rows[1]!.portions, ...rows[2]!.portions])
})

test('a running step grows with the clock that is given, and one of an ended run does not', () => {
  const running = step({ status: 'started', startedAt: at(10) })
  const end = (endedAt: string | null, nowMs: number) => waterfall(run([running], endedAt), T0 + nowMs)
  expect(end(null, 50).rows[0]!.portions[0]!.to).toBe(50)
  expect(end(null, 90).rows[0]!.portions[0]!.to).toBe(90)
  expect(end(at(60), 90).rows[0]!.portions[0]!.to).toBe(60)
  expect(end(at(60), 90).lengthMs).toBe(60)
})

test('a map waits for a worker as a whole, and shows so', () => {
  const map = step({ type: 'map', readyAt: at(5), startedAt: at(20), endedAt: at(30) })
  expect(waterfall(run([map]), T0 + 50).rows[0]!.portions.map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ['waiting', 5, 20],
    ['running', 20, 30],
  ])
})

test('a map is one bar however many tasks it has, and a wait is open', () => {
  const map = step({ step: 'm', type: 'map', startedAt: at(0), endedAt: at(9), attempts: [attempt({}), attempt({})] })
  const wait = step({ step: 'w', type: 'wait', status: 'waiting', startedAt: at(9) })
  const { rows } = waterfall(run([map, wait]), T0 + 20)
  expect(rows.map(({ id, portions }) => [id, portions[0]!.kind, portions[0]!.isOpen])).toEqual([
    ['m', 'running', false],
    ['w', 'open', true],
  ])
})

test('a step that has not begun has no row', () => {
  expect(waterfall(run([step({ status: 'created' }), step({ status: 'skipped' })]), T0 + 20).rows).toEqual([])
})

test('a clock behind the database shortens nothing below zero', () => {
  const early = waterfall(run([step({ startedAt: at(10) })]), T0 - 5000)
  expect(early.lengthMs).toBeGreaterThan(0)
  expect(early.rows.flatMap(({ portions }) => portions).every(({ from, to }) => to >= from)).toBe(true)
})

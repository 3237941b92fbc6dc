import { describe, expect, test } from 'vitest'
import { dueInstants, Schedule } from './schedule.ts'

const instantsOf = (cron: string, timeZone: string, from: string, until: string) =>
  new Schedule({ cron, timeZone }).latest(new Date(from), new Date(until), 100).map((instant) => instant.toISOString())

describe('where clocks go forward (Berlin, 29 March 2026, 02:00 becomes 03:00)', () => {
  const day = (cron: string) => instantsOf(cron, 'Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z')

  test('a time of day that does not exist fires once, at the end of the gap', () => {
    expect(day('30 2 * * *')).toEqual(['2026-03-29T01:00:00.000Z'])
  })

  test('what repeats through the hours fires once for each hour that there is', () => {
    expect(day('0 * * * *')).toHaveLength(23)
  })
})

describe.each(['America/Nuuk', 'America/Scoresbysund'])(
  'where clocks go forward at midnight (%s, 28 March 2026)',
  (timeZone) => {
    const around = (cron: string) => instantsOf(cron, timeZone, '2026-03-28T12:00:00Z', '2026-03-29T12:00:00Z')

    test.each(['0 23 * * *', '15 23 * * *', '45 23 * * *', '30 23 28 3 *'])(
      'a time of day that does not exist (%s) fires once, at the end of the gap, which lies on another day',
      (cron) => {
        expect(around(cron)).toEqual(['2026-03-29T01:00:00.000Z'])
        const schedule = new Schedule({ cron, timeZone })
        expect(schedule.next(new Date('2026-03-28T12:00:00Z'))?.toISOString()).toBe('2026-03-29T01:00:00.000Z')
        expect(schedule.next(new Date('2026-03-29T01:00:00Z'))?.getTime()).toBeGreaterThan(
          Date.parse('2026-03-29T12:00:00Z'),
        )
      },
    )

    test('what has no time in the gap fires when it does on other days', () => {
      expect(around('0 22 * * *')).toEqual(['2026-03-29T00:00:00.000Z'])
      expect(around('7 * * * *')).toHaveLength(24)
    })
  },
)

describe('where clocks go back (Berlin, 25 October 2026, 03:00 becomes 02:00)', () => {
  const day = (cron: string) => instantsOf(cron, 'Europe/Berlin', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z')

  test('a time of day that comes twice fires once, at its first', () => {
    expect(day('30 2 * * *')).toEqual(['2026-10-25T00:30:00.000Z'])
  })

  test('what repeats through the hours fires in both', () => {
    expect(day('0 * * * *')).toHaveLength(25)
    expect(day('*/30 2 * * *')).toHaveLength(4)
  })
})

test.each([
  ['2026-03-25', '2026-04-07'],
  ['2026-10-02', '2026-10-28'],
])('looking back finds the instants that looking forward does, in any zone, from %s to %s', (first, last) => {
  for (const timeZone of ['Europe/Berlin', 'Australia/Lord_Howe']) {
    for (const cron of ['30 2 * * *', '15 */6 * * *', '45 1-3 * * SUN']) {
      const schedule = new Schedule({ cron, timeZone })
      const from = new Date(`${first}T00:00:00Z`)
      const until = new Date(`${last}T00:00:00Z`)
      const forward: Date[] = []
      for (let at = schedule.next(from); at !== undefined && at <= until; at = schedule.next(at)) forward.push(at)
      expect(schedule.latest(from, until, 2000), `${cron} in ${timeZone}`).toEqual(forward)
    }
  }
})

describe('what is due', () => {
  const schedule = new Schedule({ cron: '*/10 * * * *', timeZone: 'UTC' })
  const dueAt = (catchUp: 'none' | 'last' | 'all', firedUntil: string, now: string, catchUpLimit = 3) =>
    dueInstants(
      schedule,
      { catchUp, catchUpLimit },
      {
        firedUntil: new Date(`2026-05-01T${firedUntil}Z`),
        now: new Date(`2026-05-01T${now}Z`),
      },
    ).map((instant) => instant.toISOString().slice(11, 16))

  test.each(['none', 'last', 'all'] as const)('an instant that is seen within a minute is on time (%s)', (rule) => {
    expect(dueAt(rule, '10:00:00', '10:10:00')).toEqual(['10:10'])
    expect(dueAt(rule, '10:00:00', '10:10:59')).toEqual(['10:10'])
    expect(dueAt(rule, '10:10:00', '10:10:59')).toEqual([])
  })

  test('none: what was missed never fires', () => {
    expect(dueAt('none', '08:00:00', '10:15:00')).toEqual([])
    expect(dueAt('none', '08:00:00', '10:10:30')).toEqual(['10:10'])
  })

  test('last: of what was missed the latest fires, unless one is on time', () => {
    expect(dueAt('last', '08:00:00', '10:15:00')).toEqual(['10:10'])
    expect(dueAt('last', '08:00:00', '10:20:00')).toEqual(['10:20'])
  })

  test('all: what was missed fires in order, the latest up to the limit', () => {
    expect(dueAt('all', '08:00:00', '10:20:00')).toEqual(['09:50', '10:00', '10:10', '10:20'])
    expect(dueAt('all', '09:40:00', '10:15:00')).toEqual(['09:50', '10:00', '10:10'])
  })

  test('a clock that went back fires nothing again', () => {
    expect(dueAt('all', '10:10:00', '09:00:00')).toEqual([])
  })
})

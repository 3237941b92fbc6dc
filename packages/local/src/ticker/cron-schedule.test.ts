import { expect, test } from 'vitest'
import { parseCronSchedule } from './cron-schedule.ts'

const FROM = Date.parse('2026-03-01T10:15:30.250Z')

test.each([
  ['1 second', '2026-03-01T10:15:31.250Z'],
  [' 15  Seconds ', '2026-03-01T10:15:45.250Z'],
  ['* * * * *', '2026-03-01T10:16:00.000Z'],
  ['*/5 * * * *', '2026-03-01T10:20:00.000Z'],
  ['0 9 * * mon-fri', '2026-03-02T09:00:00.000Z'],
  ['0 0 * * 7', '2026-03-08T00:00:00.000Z'],
  ['30 2 1,15 * *', '2026-03-15T02:30:00.000Z'],
  // Day of month or day of week, whichever comes first, as cron has it.
  ['0 0 13 * 3', '2026-03-04T00:00:00.000Z'],
  ['@hourly', '2026-03-01T11:00:00.000Z'],
  ['@midnight', '2026-03-02T00:00:00.000Z'],
  ['@annually', '2027-01-01T00:00:00.000Z'],
])('"%s" is due next at %s', (schedule, expected) => {
  expect(new Date(parseCronSchedule(schedule)!.nextAfter(FROM)).toISOString()).toBe(expected)
})

test('a date that never comes is never due', () => {
  expect(parseCronSchedule('0 0 30 2 *')!.nextAfter(FROM)).toBe(Number.POSITIVE_INFINITY)
})

test.each(['0 seconds', 'often', '* * * *', '', '61 * * * *'])('"%s" is not understood', (schedule) => {
  expect(parseCronSchedule(schedule)).toBeUndefined()
})

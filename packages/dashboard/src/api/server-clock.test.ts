import { describe, expect, test } from 'vitest'
import { ServerClock } from './server-clock.ts'

const NOON = Date.parse('2026-03-01T12:00:00Z')
const at = (ms: number) => new Date(ms).toUTCString()

describe('the clock of the server', () => {
  test('is the own one until an answer tells otherwise', () => {
    expect(new ServerClock(() => NOON).now()).toBe(NOON)
  })

  test('follows a server whose clock is minutes away, in both directions', () => {
    const clock = new ServerClock(() => NOON)
    clock.observe(at(NOON + 300_000))
    expect(clock.now()).toBe(NOON + 300_000)
    clock.observe(at(NOON - 300_000))
    expect(clock.now()).toBe(NOON - 300_000)
  })

  test('does not jump by the second that the header leaves out', () => {
    const clock = new ServerClock(() => NOON + 900)
    clock.observe(at(NOON))
    expect(clock.now()).toBe(NOON + 900)
  })

  test.each([null, '', 'yesterday'])('is not changed by a header that is none: %j', (header) => {
    const clock = new ServerClock(() => NOON)
    clock.observe(header)
    expect(clock.now()).toBe(NOON)
  })
})

import { describe, expect, test } from 'vitest'
import type { Clock } from '../engine/clock.ts'
import { StoreContact } from './store-contact.ts'

function contactWith(isRemote: boolean) {
  let now = 1000
  const clock = { now: () => now } as Clock
  const contact = new StoreContact(clock, { settleMs: 15_000, isRemote })
  const pass = (ms: number) => {
    now += ms
  }
  const answered = () => contact.watch(async () => {})
  const failed = () => contact.watch(() => Promise.reject(new Error('away'))).catch(() => {})
  return { contact, pass, answered, failed }
}

describe('leases are judged once the store has answered for long enough', () => {
  test('a file can be judged by at once, a store behind a network not', async () => {
    expect(contactWith(false).contact.isSettled).toBe(true)
    const { contact, pass, answered } = contactWith(true)
    expect(contact.isSettled).toBe(false)
    await answered()
    pass(14_999)
    expect(contact.isSettled).toBe(false)
    pass(1)
    expect(contact.isSettled).toBe(true)
  })

  test.each([true, false])('after it was away the time begins again (remote: %s)', async (isRemote) => {
    const { contact, pass, answered, failed } = contactWith(isRemote)
    await answered()
    pass(60_000)
    await failed()
    expect(contact).toMatchObject({ isAnswering: false, isSettled: false })
    pass(60_000)
    expect(contact.isSettled).toBe(false)
    await answered()
    expect(contact).toMatchObject({ isAnswering: true, isSettled: false })
    pass(15_000)
    await answered()
    expect(contact.isSettled).toBe(true)
  })
})

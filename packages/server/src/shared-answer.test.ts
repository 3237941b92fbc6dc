import { expect, test } from 'vitest'
import { SharedAnswer } from './shared-answer.ts'

test('an answer is shared while it is young, and asked for again afterwards', async () => {
  let now = 0
  let asked = 0
  const shared = new SharedAnswer(
    async () => ++asked,
    1000,
    () => now,
  )
  expect(await Promise.all([shared.get(), shared.get()])).toEqual([1, 1])
  now = 999
  expect(await shared.get()).toBe(1)
  now = 1000
  expect(await shared.get()).toBe(2)
})

test('a question that failed is asked again by the next one', async () => {
  let asked = 0
  const ask = async () => {
    if (++asked === 1) throw new Error('no answer')
    return asked
  }
  const shared = new SharedAnswer(ask, 1000, () => 0)
  await expect(shared.get()).rejects.toThrow('no answer')
  expect(await shared.get()).toBe(2)
})

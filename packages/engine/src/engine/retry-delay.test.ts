import { expect, test } from 'vitest'
import { retryDelaySecondsAfter } from './retry-delay.ts'

const plain = { baseDelaySeconds: 5, maxDelaySeconds: undefined }

test.each([
  [1, 10],
  [2, 20],
  [3, 40],
  [13, 40_960],
])('after attempt %i a base of 5 s gives %i s', (attempts, seconds) => {
  expect(retryDelaySecondsAfter(attempts, plain, undefined)).toBe(seconds)
})

test('it grows to a day and no further, however many attempts there were', () => {
  expect(retryDelaySecondsAfter(100_000, plain, undefined)).toBe(86_400)
})

test('maxDelay of the step caps its own delay', () => {
  expect(retryDelaySecondsAfter(5, { baseDelaySeconds: 5, maxDelaySeconds: 30 }, undefined)).toBe(30)
})

test('a delay that the handler asked for is capped by the day alone', () => {
  expect(retryDelaySecondsAfter(1, { baseDelaySeconds: 5, maxDelaySeconds: 30 }, 3600)).toBe(3600)
  expect(retryDelaySecondsAfter(1, plain, 100_000)).toBe(86_400)
})

test('a base of 0 retries at once', () => {
  expect(retryDelaySecondsAfter(3, { baseDelaySeconds: 0, maxDelaySeconds: undefined }, undefined)).toBe(0)
})

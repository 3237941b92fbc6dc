import { expect, test } from 'vitest'
import { saidOnceInAWhile } from './log.ts'
import { REPEATED_LINE_INTERVAL_MS } from './numbers.ts'

test('what fails again and again is said once in a while, with how often', () => {
  let now = 0
  const said: number[] = []
  const fail = saidOnceInAWhile(
    (_error, times) => void said.push(times),
    () => now,
  )
  for (let count = 0; count < 500; count++) fail(new Error('away'))
  now = REPEATED_LINE_INTERVAL_MS
  fail(new Error('away'))
  expect(said).toEqual([1, 500])
})

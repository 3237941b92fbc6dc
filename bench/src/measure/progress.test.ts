import { expect, test } from 'vitest'
import { Progress } from './progress.ts'

test('a hand-off is the time from the end of a step to the beginning of the next one of its run', () => {
  let now = 0
  const progress = new Progress(() => now)
  const at = (time: number, tell: () => void) => {
    now = time
    tell()
  }
  at(0, () => progress.began('a', 0))
  at(10, () => progress.ended('a', false))
  at(12, () => progress.began('b', 0))
  at(13, () => progress.ended('b', false))
  at(17, () => progress.began('a', 1))
  at(18, () => progress.ended('a', true))
  at(30, () => progress.began('b', 1))
  expect(progress.handOffs).toEqual([7, 17])
  expect({ steps: progress.steps, runs: progress.runs }).toEqual({ steps: 3, runs: 1 })
})

test('the time at work is from the first step to the last one', () => {
  let now = 1000
  const progress = new Progress(() => now)
  progress.add(1, 0)
  now = 3500
  progress.add(50, 25)
  now = 9000
  expect(progress.seconds).toBe(2.5)
})

test('who waits is told when enough runs have ended, or that the time is over', async () => {
  const progress = new Progress()
  const enough = progress.until(2, 60_000)
  progress.add(3, 2)
  expect(await enough).toBe(true)
  expect(await progress.until(3, 1)).toBe(false)
})

import { expect, test } from 'vitest'
import { systemClock } from '../engine/clock.ts'
import { RepeatingTask } from './repeating-task.ts'

const HOUR_MS = 3_600_000

function task(once: () => Promise<void>, intervalMs = HOUR_MS) {
  const failures: unknown[] = []
  const made = new RepeatingTask({ clock: systemClock, intervalMs, once, onFailure: (error) => failures.push(error) })
  return { made, failures }
}

test('it may be stopped without having been started, and twice', async () => {
  let times = 0
  const { made } = task(async () => void times++)
  await Promise.all([made.stop(), made.stop()])
  made.start()
  await made.stop()
  expect(times).toBe(0)
})

test('it begins at once, and stops without waiting for its next time', async () => {
  let times = 0
  const { made } = task(async () => void times++)
  made.start()
  await made.stop()
  expect(times).toBe(1)
})

test('a wake during one time is followed by another time, never by two at once', async () => {
  let running = 0
  let most = 0
  let times = 0
  let done = () => {}
  const thrice = new Promise<void>((resolve) => {
    done = resolve
  })
  const { made } = task(async () => {
    most = Math.max(most, ++running)
    if (++times < 3) made.wake()
    await null
    running--
    if (times === 3) done()
  })
  made.start()
  await thrice
  await made.stop()
  expect([times, most]).toEqual([3, 1])
})

test('a failure is said, and the next time comes all the same', async () => {
  let times = 0
  let done = () => {}
  const twice = new Promise<void>((resolve) => {
    done = resolve
  })
  const { made, failures } = task(async () => {
    if (++times === 2) return done()
    throw new Error('once')
  }, 1)
  made.start()
  await twice
  await made.stop()
  expect(failures).toHaveLength(1)
})

test('one time that never ends is a failure, and the next one comes', async () => {
  let times = 0
  let done = () => {}
  const twice = new Promise<void>((resolve) => {
    done = resolve
  })
  const failures: unknown[] = []
  const made = new RepeatingTask({
    ...{ clock: systemClock, intervalMs: 1, patienceMs: 5, onFailure: (error) => void failures.push(error) },
    once: async () => {
      if (++times === 1) await new Promise(() => {})
      done()
    },
  })
  made.start()
  await twice
  await made.stop()
  expect(failures).toEqual([new Error('There was no answer within 5 ms.')])
})

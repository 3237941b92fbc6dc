import { expect, onTestFinished, test, vi } from 'vitest'
import { DatabaseLoop } from './database-loop.ts'
import type { TickerEvent } from './ticker-event.ts'

function loopOf(pass: () => Promise<void>, intervalMs: number) {
  const events: TickerEvent[] = []
  const loop = new DatabaseLoop({ name: 'test', intervalMs, pass, onEvent: (event) => events.push(event) })
  onTestFinished(() => loop.stop())
  return { loop, events }
}

test('a database that cannot be reached is told once, tried again with growing pauses, and told when it is back', async () => {
  const times: number[] = []
  const { loop, events } = loopOf(async () => {
    times.push(performance.now())
    if (times.length <= 4) throw new Error('no connection')
  }, 20)
  loop.start()
  await vi.waitUntil(() => events.length === 2, { timeout: 60_000 })
  expect(events).toEqual([
    { type: 'ticker.database_lost', loop: 'test', message: 'no connection', retryInMs: 20 },
    { type: 'ticker.database_back', loop: 'test' },
  ])
  // 20, 40, 80 and 160 ms.
  expect(times[4]! - times[0]!).toBeGreaterThanOrEqual(290)
})

test('a wake runs a pass at once, and one during a pass runs another right after it', async () => {
  let passes = 0
  let finish = () => {}
  const { loop } = loopOf(async () => {
    passes++
    if (passes !== 2) return
    await new Promise<void>((resolve) => {
      finish = resolve
    })
  }, 60_000)
  loop.start()
  await vi.waitUntil(() => passes === 1, { timeout: 60_000 })
  loop.wake()
  await vi.waitUntil(() => passes === 2, { timeout: 60_000 })
  loop.wake()
  finish()
  await vi.waitUntil(() => passes === 3, { timeout: 60_000 })
})

test('start twice, stop before start and stop twice are fine, and stop waits for the pass that runs', async () => {
  let passes = 0
  let isOver = false
  const { loop } = loopOf(async () => {
    passes++
    await new Promise((resolve) => setTimeout(resolve, 50))
    isOver = true
  }, 60_000)
  await loop.stop()
  loop.start()
  loop.start()
  await vi.waitUntil(() => passes > 0, { timeout: 60_000 })
  await loop.stop()
  await loop.stop()
  expect([passes, isOver]).toEqual([1, true])
})

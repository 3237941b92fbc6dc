import { expect, test } from 'vitest'
import type { Clock } from '../engine/clock.ts'
import { LEASE_TTL_MS, SWEEP_INTERVAL_MS } from '../numbers.ts'
import { LeaseSweep } from './lease-sweep.ts'

/** Time that passes when the test says, in steps of 100 ms. */
class TestClock implements Clock {
  #now = 0
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>()

  now = () => this.#now

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  async pass(ms: number): Promise<void> {
    for (const end = this.#now + ms; this.#now < end; ) {
      this.#now += 100
      for (const timer of this.#timers) {
        if (timer.at <= this.#now && this.#timers.delete(timer)) timer.callback()
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

test('an outage that falls between two sweeps is noticed: no lease is judged before its runner can have renewed it', async () => {
  const clock = new TestClock()
  const sweeps: number[] = []
  let isShut = false
  const call = async <T>(answer: T): Promise<T> => {
    if (isShut) throw new Error('The store is away.')
    return answer
  }
  const sweep = new LeaseSweep({
    adapter: {
      isRemote: true,
      listRunners: () => call([]),
      expireOldLeases: async () => {
        await call(null)
        sweeps.push(clock.now())
        return []
      },
    },
    ...{ clock, onSwept: () => {}, onFailure: () => {} },
  })
  sweep.start()
  for (let outage = 0; outage < 5; outage++) {
    while (sweeps.length === 0) await clock.pass(100)
    // Right after a sweep; over before the next one that a process with runners would make.
    isShut = true
    await clock.pass(SWEEP_INTERVAL_MS - 2_000 - outage * 1_000)
    isShut = false
    const reopened = clock.now()
    sweeps.length = 0
    while (sweeps.length === 0) await clock.pass(100)
    expect(sweeps[0]! - reopened).toBeGreaterThanOrEqual(LEASE_TTL_MS / 2)
    sweeps.length = 0
  }
  await sweep.stop()
})

import { Flow, RetryLater } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { Engine } from '../src/engine/engine.ts'
import { useStore } from './conformance/adapter-factory.ts'
import { localStores } from './support/local-store.ts'
import { inVirtualTime, StoreCalls, VirtualClock } from './support/virtual-clock.ts'

const store = useStore(localStores)

/** Runs it on a clock of its own, and gives the seconds at which each attempt began. */
async function attemptTimes(
  flow: (attempt: (name: string) => void) => Flow<object>,
): Promise<Record<string, number[]>> {
  const clock = new VirtualClock()
  const times: Record<string, number[]> = {}
  const noted = flow((name) => {
    times[name] ??= []
    times[name].push(Math.round(clock.now() / 1000))
  })
  const calls = new StoreCalls()
  const engine = new Engine({ adapter: calls.counted(store().adapter), clock })
  await inVirtualTime(clock, calls, engine.run(noted as Flow<object>, {}))
  return times
}

test('retries come after base × 2^attempts, as in the SQL core', async () => {
  const times = await attemptTimes(
    (attempt) =>
      new Flow<object>({ slug: 'retried', maxAttempts: 4, baseDelay: 2 }).step({ slug: 'flaky' }, () => {
        attempt('flaky')
        throw new Error('again')
      }) as unknown as Flow<object>,
  )
  expect(times).toEqual({ flaky: [0, 4, 12, 28] })
})

test('a start delay, a delay that the handler chose and a cap are kept beside each other', async () => {
  let failures = 0
  const times = await attemptTimes(
    (attempt) =>
      new Flow<object>({ slug: 'delays', maxAttempts: 3, baseDelay: 20, maxDelay: 7 })
        .step({ slug: 'capped' }, () => {
          attempt('capped')
          throw failures++ < 1 ? new Error('again') : new RetryLater({ delaySeconds: 11 })
        })
        .step({ slug: 'later', startDelay: 9 }, () => attempt('later')) as unknown as Flow<object>,
  )
  expect(times).toEqual({ capped: [0, 7, 18], later: [9] })
})

test('a timeout is as long as its step says', async () => {
  const times = await attemptTimes(
    (attempt) =>
      new Flow<object>({ slug: 'timeouts', maxAttempts: 1 }).step({ slug: 'endless', timeout: 30 }, async (_, ctx) => {
        attempt('began')
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        attempt('aborted')
      }) as unknown as Flow<object>,
  )
  expect(times).toEqual({ began: [0], aborted: [30] })
})

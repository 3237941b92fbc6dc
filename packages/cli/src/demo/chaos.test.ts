import { expect, test } from 'vitest'
import { type BusyWorker, Chaos, type ChaosPace, type ChaosView } from './chaos.ts'

const worker = (workerId: string, queue: string, registeredAtMs = 0): BusyWorker => ({
  workerId,
  executionId: `isolate of ${workerId}`,
  step: queue,
  queue,
  registeredAtMs,
})

function chaosOver(
  views: Partial<ChaosView>[],
  options: { minKills?: number; paces?: { first: ChaosPace; later: ChaosPace }; isAlive?: boolean } = {},
) {
  const killed: string[] = []
  let turn = 0
  const chaos = new Chaos({
    look: async () => ({
      busy: [],
      nowMs: turn,
      lastStepsStarted: false,
      ...views[Math.min(turn++, views.length - 1)],
    }),
    kill: async (victim) => {
      if (options.isAlive === false) return false
      killed.push(victim.workerId)
      return true
    },
    random: () => 0,
    minKills: options.minKills ?? 5,
    paces: options.paces ?? { first: { restMs: 0, minAgeMs: 0 }, later: { restMs: 0, minAgeMs: 0 } },
  })
  return { chaos, killed }
}

test('a queue loses no second worker before a new one has registered', async () => {
  const { chaos, killed } = chaosOver([
    { busy: [worker('a1', 'a')], nowMs: 100 },
    { busy: [worker('a1', 'a'), worker('a0', 'a', 50)], nowMs: 200 },
    { busy: [worker('a2', 'a', 150)], nowMs: 300 },
  ])
  expect([await chaos.killOne(), await chaos.killOne(), await chaos.killOne()]).toEqual(['killed', 'nobody', 'killed'])
  expect(killed).toEqual(['a1', 'a2'])
})

test('other queues may lose theirs meanwhile', async () => {
  const busy = [worker('a1', 'a'), worker('b1', 'b')]
  const { chaos, killed } = chaosOver([{ busy, nowMs: 100 }])
  await chaos.killOne()
  await chaos.killOne()
  expect(killed).toEqual(['a1', 'b1'])
})

test('it goes on after the last steps have started until enough are killed, then ends', async () => {
  const views = [1, 2].map((n) => ({ busy: [worker(`w${n}`, `q${n}`)], lastStepsStarted: true }))
  const { chaos } = chaosOver(views, { minKills: 2 })
  expect([await chaos.killOne(), await chaos.killOne(), await chaos.killOne()]).toEqual(['killed', 'killed', 'over'])
  expect(chaos.killed).toBe(2)
})

test('it goes on past the least number of kills while a step waits to be started', async () => {
  const { chaos } = chaosOver([{ busy: [worker('a', 'a')] }, { busy: [worker('b', 'b')] }], { minKills: 1 })
  expect([await chaos.killOne(), await chaos.killOne()]).toEqual(['killed', 'killed'])
})

test('a worker that was gone already is not counted', async () => {
  const { chaos } = chaosOver([{ busy: [worker('a', 'a')] }], { isAlive: false })
  expect(await chaos.killOne()).toBe('nobody')
  expect(chaos.killed).toBe(0)
})

test('after its first kills it spares young workers', async () => {
  const busy = [worker('first', 'a', 2_900), worker('young', 'b', 1_000), worker('grown', 'c', 500)]
  const paces = { first: { restMs: 0, minAgeMs: 100 }, later: { restMs: 0, minAgeMs: 2_500 } }
  const { chaos, killed } = chaosOver([{ busy, nowMs: 3_000 }], { minKills: 1, paces })
  expect([await chaos.killOne(), await chaos.killOne(), await chaos.killOne()]).toEqual(['killed', 'killed', 'nobody'])
  expect(killed).toEqual(['first', 'grown'])
})

test('it starts once, stops at any time, and survives a failing look', async () => {
  let looks = 0
  const errors: unknown[] = []
  let looked: () => void = () => {}
  const lookedTwice = new Promise<void>((resolve) => {
    looked = resolve
  })
  const chaos = new Chaos({
    look: async () => {
      looks += 1
      if (looks === 2) looked()
      throw new Error('database away')
    },
    kill: () => true,
    onError: (error) => errors.push(error),
    paces: { first: { restMs: 1, minAgeMs: 0 }, later: { restMs: 1, minAgeMs: 0 } },
  })
  await chaos.stop()
  chaos.start()
  chaos.start()
  await lookedTwice
  await chaos.stop()
  await chaos.stop()
  expect(errors.length).toBeGreaterThanOrEqual(1)
  const after = looks
  await new Promise((resolve) => setImmediate(resolve))
  expect(looks).toBe(after)
})

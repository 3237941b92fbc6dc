import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type LiveHint, LiveHints } from './live-hints.ts'
import { LIVE_KINDS, type LiveMarks } from './live-marks.ts'

/** Marks that a test changes, and how often somebody has looked. */
class TestSource {
  looks = 0
  watched: readonly string[] = []
  isBroken = false
  readonly marks: Record<string, string> = {}

  async read(runIds: readonly string[]): Promise<LiveMarks> {
    this.looks++
    this.watched = runIds
    if (this.isBroken) throw new Error('no database')
    const kinds = Object.fromEntries(LIVE_KINDS.map((kind) => [kind, this.marks[kind] ?? ''])) as LiveMarks['kinds']
    return { kinds, runs: new Map(runIds.map((runId) => [runId, this.marks[runId] ?? ''])) }
  }

  /** Settles after as many more looks. */
  async looked(count: number): Promise<void> {
    const wanted = this.looks + count
    while (this.looks < wanted) await pause(1)
  }
}

function fixture() {
  const source = new TestSource()
  const failures: unknown[] = []
  const hints = new LiveHints({ source, onFailure: (error) => failures.push(error), intervalMs: 1 })
  const listen = (...runIds: string[]) => {
    const told: LiveHint[] = []
    return { told, stop: hints.listen({ runIds, tell: (hint) => told.push(hint) }) }
  }
  return { source, failures, listen }
}

test('a change is told to everybody, twice, and nothing is told while nothing changes', async () => {
  const { source, listen } = fixture()
  const [one, two] = [listen(), listen()]
  await source.looked(3)
  expect(one.told).toEqual([])
  source.marks.waits = 'another'
  await source.looked(4)
  const hint = { kinds: ['waits'], runIds: [] }
  expect(one.told).toEqual([hint, hint])
  expect(two.told).toEqual([hint, hint])
  one.stop()
  two.stop()
})

test('of a run only those are told who watch it', async () => {
  const { source, listen } = fixture()
  const [watcher, other] = [listen('r1'), listen('r2')]
  await source.looked(2)
  expect([...source.watched].sort()).toEqual(['r1', 'r2'])
  source.marks.r1 = 'another'
  await source.looked(4)
  expect(watcher.told).toEqual([
    { kinds: [], runIds: ['r1'] },
    { kinds: [], runIds: ['r1'] },
  ])
  expect(other.told).toEqual([])
  watcher.stop()
  other.stop()
})

test('nobody looks while nobody listens, and one look serves all who do', async () => {
  const { source, listen } = fixture()
  expect(source.looks).toBe(0)
  const listeners = Array.from({ length: 50 }, () => listen())
  await source.looked(3)
  for (const { stop } of listeners) stop()
  const { looks } = source
  await pause(20)
  // One may have been under way.
  expect(source.looks - looks).toBeLessThanOrEqual(1)
  const again = listen()
  await source.looked(2)
  again.stop()
})

test('a look that fails is said, and the next one tells what has changed since the last good one', async () => {
  const { source, failures, listen } = fixture()
  const { told, stop } = listen()
  await source.looked(2)
  source.isBroken = true
  await source.looked(2)
  expect(failures.length).toBeGreaterThan(0)
  source.marks.flows = 'another'
  source.isBroken = false
  await source.looked(3)
  expect(told[0]).toEqual({ kinds: ['flows'], runIds: [] })
  stop()
})

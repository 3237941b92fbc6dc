import { describe, expect, test } from 'vitest'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { claim, enqueue, readRun } from './run-fixture.ts'

/** Which runners take the runs of a pool. */
export function describePools(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: pools`, () => {
    const store = useStore(factory)

    test('a runner without a pool takes only runs of no pool', async () => {
      const { adapter } = store()
      await enqueue(adapter, { runnerPool: 'gpu' })
      const runId = await enqueue(adapter)
      expect((await claim(adapter))?.run.runId).toBe(runId)
      expect(await claim(adapter)).toBeNull()
    })

    test('a runner of a pool takes its own runs and those of no pool, the oldest first', async () => {
      const { adapter, advance } = store()
      const queued: string[] = []
      for (const runnerPool of ['cpu', undefined, 'gpu', 'gpu']) {
        queued.push(await enqueue(adapter, { runnerPool }))
        await advance(1000)
      }
      const taken: (string | undefined)[] = []
      for (let index = 0; index < 4; index++)
        taken.push((await claim(adapter, 'runner-a', { runnerPool: 'gpu' }))?.run.runId)
      expect(taken).toEqual([...queued.slice(1), undefined])
    })

    test('a run keeps its pool when it is given back', async () => {
      const { adapter } = store()
      const runId = await enqueue(adapter, { runnerPool: 'gpu' })
      const claimed = await claim(adapter, 'runner-a', { runnerPool: 'gpu' })
      await adapter.bind(claimed!.claim).releaseRun(runId, { delayMs: 0, reason: 'drain' })
      expect((await readRun(adapter, runId)).runnerPool).toBe('gpu')
      expect(await claim(adapter)).toBeNull()
    })
  })
}

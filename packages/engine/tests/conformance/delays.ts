import { describe, expect, test } from 'vitest'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { between, claim, claimedRun, enqueue, expectAbout, FAILURE, lastEvent, readRun } from './run-fixture.ts'

/** What is due later, by the clock of the store. */
export function describeDelays(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: delays`, () => {
    const store = useStore(factory)

    test('a run that starts later is claimed when its delay has passed, and not before', async () => {
      const { adapter, advance } = store()
      const runId = await enqueue(adapter, { delayMs: 60_000 })
      const run = await readRun(adapter, runId)
      expect(between(run.queuedAt, run.availableAt)).toBe(60_000)
      expect(await claim(adapter)).toBeNull()
      await advance(45_000)
      expect(await claim(adapter)).toBeNull()
      await advance(15_001)
      expect((await claim(adapter))?.run.runId).toBe(runId)
    })

    test('a later run holds up none that is due', async () => {
      const { adapter, advance } = store()
      await enqueue(adapter, { delayMs: 60_000 })
      await advance(1000)
      const runId = await enqueue(adapter)
      expect((await claim(adapter))?.run.runId).toBe(runId)
    })

    test('a run that is given back with a delay is claimed when it has passed, and not before', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await claimedRun(adapter)
      await bound.releaseRun(runId, { delayMs: 3_600_000, reason: 'long_delay' })
      expect(await lastEvent(adapter, runId)).toMatchObject({ type: 'run_released', payload: { reason: 'long_delay' } })
      expect(await claim(adapter)).toBeNull()
      await advance(3_600_001)
      expect((await claim(adapter))?.run.runId).toBe(runId)
    })

    test('the retry of a node says when it is due', async () => {
      const { adapter } = store()
      const { runId, bound } = await claimedRun(adapter)
      await bound.onNodeRetry(runId, 'pack', { attempt: 1, error: FAILURE, delayMs: 90_000 })
      const event = await lastEvent(adapter, runId)
      expect(event).toMatchObject({
        type: 'node_retry',
        nodeId: 'pack',
        payload: { attempt: 1, error: FAILURE, delay_ms: 90_000 },
      })
      expectAbout(between(event!.createdAt, String(event!.payload?.due_at)), 90_000)
    })

    test('a run that is retried by hand is due at once', async () => {
      const { adapter } = store()
      const runId = await enqueue(adapter, { delayMs: 3_600_000 })
      await adapter.cancelRun(runId, 'not wanted any more')
      await adapter.retryRun(runId)
      expect((await claim(adapter))?.run.runId).toBe(runId)
    })
  })
}

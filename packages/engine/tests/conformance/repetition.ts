import { describe, expect, test } from 'vitest'
import type { RunRecord } from '../../src/run-record.ts'
import type { QueueingStateAdapter, WorkflowStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import {
  claimedRun,
  eventTypes,
  FAILURE,
  heldRun,
  pausedRun,
  readRun,
  startRun,
  TTL_MS,
  takeRun,
} from './run-fixture.ts'
import { RUN_WRITES } from './run-writes.ts'

/** What must have happened before a method has something to do. */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  onRunResumed: ['onRunPaused', 'openWait', 'saveCheckpoint'],
  saveCheckpoint: ['onRunPaused'],
  openWait: ['onRunPaused'],
  clearLease: ['onRunPaused'],
}

/** A method whose answer was lost is called again, and has the effect of one call. */
export function describeRepetition(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: repeated calls`, () => {
    const store = useStore(factory)

    test.each(Object.entries(RUN_WRITES))('%s twice has the effect of one', async (name, write) => {
      const { adapter } = store()
      const { runId, bound } = await claimedRun(adapter)
      for (const earlier of BEFORE[name] ?? []) await RUN_WRITES[earlier]!(bound, runId)
      await write(bound, runId)
      const once = await kept(adapter, runId)
      await write(bound, runId)
      expect(await kept(adapter, runId)).toEqual(once)
    })

    test('a lease that is written twice gives the same claim', async () => {
      const { adapter } = store()
      const runId = await startRun(adapter)
      const claim = await adapter.writeLease(runId, 'runner-a', TTL_MS)
      expect(await adapter.writeLease(runId, 'runner-a', TTL_MS)).toEqual(claim)
      expect((await readRun(adapter, runId)).claimAttempts).toBe(1)
    })

    test('a node has one output: the first one', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      await bound.onNodeComplete(runId, 'pack', 'first')
      await bound.onNodeStart(runId, 'label', { attempt: 1 })
      await bound.onNodeComplete(runId, 'pack', 'second')
      await bound.onNodeComplete(runId, 'pack[0]', 'an element is a node of its own')
      const outputs = (await adapter.readEvents(runId)).filter(({ type }) => type === 'node_complete')
      expect(outputs.map(({ nodeId, payload }) => [nodeId, payload?.output])).toEqual([
        ['pack', 'first'],
        ['pack[0]', 'an element is a node of its own'],
      ])
    })

    test('the next attempt is no repetition', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      for (const attempt of [1, 2]) {
        await bound.onNodeStart(runId, 'pack', { attempt })
        await bound.onNodeRetry(runId, 'pack', { attempt, error: FAILURE, delayMs: 0 })
      }
      await bound.onNodeStart(runId, 'pack', { attempt: 3 })
      await bound.onNodeError(runId, 'pack', { attempt: 3, error: FAILURE })
      const events = await adapter.readEvents(runId)
      expect(events.slice(1).map(({ type, payload }) => `${type} ${payload?.attempt}`)).toEqual([
        'node_start 1',
        'node_retry 1',
        'node_start 2',
        'node_retry 2',
        'node_start 3',
        'node_error 3',
      ])
    })

    test('an attempt that begins again with another runner is no repetition', async () => {
      const { adapter } = store()
      const first = await claimedRun(adapter)
      await first.bound.onNodeStart(first.runId, 'pack', { attempt: 1 })
      await first.bound.releaseRun(first.runId, { delayMs: 0, reason: 'drain' })
      const second = await takeRun(adapter, first.runId, 'runner-b')
      await second.bound.onNodeStart(first.runId, 'pack', { attempt: 1 })
      expect(await eventTypes(adapter, first.runId)).toEqual([
        'run_started',
        'node_start',
        'run_released',
        'node_start',
      ])
    })

    test('the same wait twice is one wait, due when it first said', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await claimedRun(adapter)
      const first = await bound.openWait(runId, { nodeId: 'approve', timeoutMs: 60_000 })
      await advance(1000)
      expect(await bound.openWait(runId, { nodeId: 'approve', timeoutMs: 60_000 })).toEqual(first)
      expect(await adapter.readWaits(runId)).toEqual([first])
    })

    test('a run is cancelled once, and retried once', async () => {
      const { adapter } = store()
      const { runId } = await pausedRun(adapter)
      expect([await adapter.cancelRun(runId, 'no'), await adapter.cancelRun(runId, 'no')]).toEqual([true, false])
      expect([await adapter.retryRun(runId), await adapter.retryRun(runId)]).toEqual([true, false])
      expect((await eventTypes(adapter, runId)).slice(-2)).toEqual(['run_cancelled', 'run_retried'])
    })

    test('a sweep that is repeated finds nothing more', async () => {
      const { adapter, advance } = store()
      const { runId } = await claimedRun(adapter)
      await advance(TTL_MS + 1000)
      const sweep = { ttlMs: TTL_MS, maxLosses: 3, reason: 'runner_lost' }
      expect(await adapter.expireOldLeases(sweep)).toEqual([{ runId, outcome: 'requeued' }])
      expect(await adapter.expireOldLeases(sweep)).toEqual([])
    })
  })
}

/** All that is kept, but for the times that a refreshed lease moves on. */
async function kept(adapter: WorkflowStateAdapter, runId: string): Promise<unknown> {
  const { leaseUntil, lastHeartbeat, ...run }: RunRecord = await readRun(adapter, runId)
  return {
    run: { ...run, isLeased: leaseUntil !== null && lastHeartbeat !== null },
    events: await adapter.readEvents(runId),
    waits: await adapter.readWaits(runId),
    session: await adapter.sessionGet('cart', 'total'),
  }
}

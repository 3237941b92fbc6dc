import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import {
  claim,
  claimedRun,
  enqueue,
  eventTypes,
  everythingOf,
  FAILURE,
  pausedRun,
  readRun,
  takeRun,
} from './run-fixture.ts'

/** What people decide about runs: that one is cancelled, or tried again. */
export function describeDecisions(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: cancel and retry`, () => {
    const store = useStore(factory)

    async function failedRun(): Promise<string> {
      const { runId, bound } = await claimedRun(store().adapter)
      await bound.onNodeComplete(runId, 'pack', { weight: 3 })
      await bound.onNodeError(runId, 'send', { attempt: 1, error: FAILURE })
      await bound.onRunError(runId, FAILURE)
      await bound.clearLease(runId)
      return runId
    }

    test.each(['queued', 'claimed', 'running', 'paused'])(
      'a run that is %s is cancelled, and nobody holds it',
      async (state) => {
        const { adapter } = store()
        const runId =
          state === 'running'
            ? (await claimedRun(adapter)).runId
            : state === 'paused'
              ? (await pausedRun(adapter)).runId
              : await enqueue(adapter)
        if (state === 'claimed') await claim(adapter)
        expect(await adapter.cancelRun(runId, 'not wanted any more')).toBe(true)
        const run = await readRun(adapter, runId)
        expect(run).toMatchObject({
          status: 'cancelled',
          claimState: 'complete',
          leasedBy: null,
          leaseUntil: null,
          checkpoint: null,
          output: null,
        })
        expect(run.cancelledAt).not.toBeNull()
        expect((await eventTypes(adapter, runId)).at(-1)).toBe('run_cancelled')
        expect(await claim(adapter)).toBeNull()
      },
    )

    test('a run that has ended is not cancelled any more', async () => {
      const { adapter } = store()
      const { runId, bound } = await claimedRun(adapter)
      await bound.onRunComplete(runId, { output: 1, durationMs: 1 })
      const before = await everythingOf(adapter, runId)
      expect(await adapter.cancelRun(runId, 'too late')).toBe(false)
      expect(await everythingOf(adapter, runId)).toEqual(before)
    })

    test('a failed run that is retried is queued with what it has completed, and ends anew', async () => {
      const { adapter, advance } = store()
      const runId = await failedRun()
      await advance(1000)
      expect(await adapter.retryRun(runId)).toBe(true)
      const run = await readRun(adapter, runId)
      expect(run).toMatchObject({
        status: 'queued',
        claimState: 'queued',
        error: null,
        completedAt: null,
        durationMs: null,
        claimAttempts: 1,
      })
      expect(run.startedAt).not.toBeNull()
      const again = await takeRun(adapter, runId, 'runner-b')
      expect(again.claim.claimAttempts).toBe(2)
      await again.bound.onNodeStart(runId, 'send', { attempt: 1 })
      await again.bound.onNodeComplete(runId, 'send', 'sent')
      await again.bound.onRunComplete(runId, { output: 'sent', durationMs: 7 })
      await again.bound.clearLease(runId)
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'success', claimState: 'complete', output: 'sent' })
      expect(await eventTypes(adapter, runId)).toEqual([
        'run_started',
        'node_complete',
        'node_error',
        'run_failed',
        'run_retried',
        'node_start',
        'node_complete',
        'run_completed',
      ])
    })

    test('a node that failed with the attempt of the time before fails again', async () => {
      const { adapter } = store()
      const runId = await failedRun()
      await adapter.retryRun(runId)
      const { bound } = await takeRun(adapter, runId)
      await bound.onNodeError(runId, 'send', { attempt: 1, error: FAILURE })
      await bound.onRunError(runId, FAILURE)
      expect((await eventTypes(adapter, runId)).slice(-3)).toEqual(['run_retried', 'node_error', 'run_failed'])
    })

    test('a run that was cancelled is retried', async () => {
      const { adapter } = store()
      const { runId } = await pausedRun(adapter)
      await adapter.cancelRun(runId, 'not wanted any more')
      expect(await adapter.retryRun(runId)).toBe(true)
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'queued', cancelledAt: null })
      await takeRun(adapter, runId)
    })

    test.each(['running', 'paused', 'successful'])('a %s run is not retried', async (state) => {
      const { adapter } = store()
      const { runId, bound } = state === 'paused' ? await pausedRun(adapter) : await claimedRun(adapter)
      if (state === 'successful') await bound.onRunComplete(runId, { output: 1, durationMs: 1 })
      const before = await everythingOf(adapter, runId)
      expect(await adapter.retryRun(runId)).toBe(false)
      expect(await everythingOf(adapter, runId)).toEqual(before)
    })

    test('a run that failed is retried also while its runner has not let go of it', async () => {
      const { adapter } = store()
      const { runId, bound } = await claimedRun(adapter)
      await bound.onRunError(runId, FAILURE)
      expect(await adapter.retryRun(runId)).toBe(true)
      expect(await readRun(adapter, runId)).toMatchObject({ claimState: 'queued', leasedBy: null })
      await bound.clearLease(runId)
      expect(await readRun(adapter, runId)).toMatchObject({ claimState: 'queued' })
      await takeRun(adapter, runId, 'runner-b')
    })

    test('a run that is not there can be neither cancelled nor retried', async () => {
      const { adapter } = store()
      await expect(adapter.cancelRun(randomUUID(), 'no')).rejects.toMatchObject({ code: 'SF802' })
      await expect(adapter.retryRun(randomUUID())).rejects.toMatchObject({ code: 'SF802' })
    })
  })
}

import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import {
  claimedRun,
  enqueue,
  everythingOf,
  FAILURE,
  type HeldRun,
  heldRun,
  pausedRun,
  readRun,
  SWEEP,
  startRun,
  TTL_MS,
  takeRun,
} from './run-fixture.ts'
import { RUN_WRITES } from './run-writes.ts'

const EVERY_WRITE = Object.entries(RUN_WRITES)
/** What is asked of a runner that has lost its run is that it holds it no longer, and that is so already. */
const GIVING_UP = ['clearLease', 'releaseRun']
const WRITES = EVERY_WRITE.filter(([name]) => !GIVING_UP.includes(name))

/** Who may write a run, and who is refused. */
export function describeFencing(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: fencing`, () => {
    const store = useStore(factory)

    /** The lease of a run is over, the sweep has queued it, and another runner has taken it. */
    async function stolenRun(): Promise<HeldRun> {
      const { adapter, advance } = store()
      const held = await claimedRun(adapter)
      await advance(TTL_MS + 1000)
      await adapter.expireOldLeases(SWEEP)
      await takeRun(adapter, held.runId, 'runner-b')
      return held
    }

    test.each(EVERY_WRITE)(
      '%s by a runner whose run was taken over is refused and changes nothing',
      async (_, write) => {
        const { adapter } = store()
        const { runId, bound } = await stolenRun()
        const before = await everythingOf(adapter, runId)
        await expect(write(bound, runId)).rejects.toMatchObject({ code: 'SF801' })
        expect(await everythingOf(adapter, runId)).toEqual(before)
      },
    )

    test.each(WRITES)('%s of a run that was cancelled is refused and changes nothing', async (_, write) => {
      const { adapter } = store()
      const { runId, bound } = await claimedRun(adapter)
      await adapter.cancelRun(runId, 'not wanted any more')
      const before = await everythingOf(adapter, runId)
      await expect(write(bound, runId)).rejects.toMatchObject({ code: 'SF801' })
      await expect(write(adapter, runId)).rejects.toMatchObject({ code: 'SF801' })
      expect(await everythingOf(adapter, runId)).toEqual(before)
    })

    test.each(WRITES)(
      '%s by a runner that the sweep took the run from is refused and changes nothing',
      async (_, write) => {
        const { adapter, advance } = store()
        const { runId, bound } = await claimedRun(adapter)
        await advance(TTL_MS + 1000)
        await adapter.expireOldLeases(SWEEP)
        const before = await everythingOf(adapter, runId)
        await expect(write(bound, runId)).rejects.toMatchObject({ code: 'SF801' })
        expect(await everythingOf(adapter, runId)).toEqual(before)
      },
    )

    test.each(EVERY_WRITE)('%s without a claim is refused while somebody holds the run', async (_, write) => {
      const { adapter } = store()
      const { runId } = await claimedRun(adapter)
      const before = await everythingOf(adapter, runId)
      await expect(write(adapter, runId)).rejects.toMatchObject({ code: 'SF801' })
      expect(await everythingOf(adapter, runId)).toEqual(before)
    })

    test.each(EVERY_WRITE)(
      '%s of another run than the claim is of is refused and changes nothing',
      async (_, write) => {
        const { adapter } = store()
        const { bound } = await claimedRun(adapter)
        const other = await claimedRun(adapter, {}, 'runner-a')
        const before = await everythingOf(adapter, other.runId)
        await expect(write(bound, other.runId)).rejects.toMatchObject({ code: 'SF801' })
        expect(await everythingOf(adapter, other.runId)).toEqual(before)
      },
    )

    test.each(EVERY_WRITE.filter(([name]) => name !== 'onRunStart'))(
      '%s of a run that is not there says so',
      async (_, write) => {
        const { adapter } = store()
        await expect(write(adapter, randomUUID())).rejects.toMatchObject({ code: 'SF802' })
      },
    )

    test.each(WRITES.filter(([name]) => name !== 'refreshLease' && name !== 'onRunComplete'))(
      '%s of a run that has its end is refused, also by the runner that wrote the end',
      async (_, write) => {
        const { adapter } = store()
        const { runId, bound } = await claimedRun(adapter)
        await bound.onRunComplete(runId, { output: 1, durationMs: 1 })
        const before = await everythingOf(adapter, runId)
        await expect(write(bound, runId)).rejects.toMatchObject({ code: 'SF801' })
        expect(await everythingOf(adapter, runId)).toEqual(before)
      },
    )

    test('a refusal names the run and its runner, and who holds it', async () => {
      const { runId, bound } = await stolenRun()
      const refusal = await bound.onNodeSkip(runId, 'gift', 'condition_unmet').catch((error: unknown) => error)
      expect(refusal).toMatchObject({
        name: 'RunClaimLostError',
        message: `Runner "runner-a" no longer holds run ${runId}.`,
        detail: expect.stringContaining('runner-b'),
        hint: expect.stringMatching(/./),
        fields: { runId },
      })
    })

    test('an earlier claim of the same runner is not its current one', async () => {
      const { adapter } = store()
      const first = await claimedRun(adapter)
      await first.bound.releaseRun(first.runId, { delayMs: 0, reason: 'drain' })
      const second = await takeRun(adapter, first.runId, 'runner-a')
      expect(second.claim.claimAttempts).toBe(2)
      await expect(first.bound.onNodeStart(first.runId, 'pack', { attempt: 1 })).rejects.toMatchObject({
        code: 'SF801',
      })
      await second.bound.onNodeStart(first.runId, 'pack', { attempt: 1 })
    })

    test('a runner whose lease is over goes on writing while nobody has taken the run', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await claimedRun(adapter)
      await advance(TTL_MS * 10)
      await bound.onNodeComplete(runId, 'pack', 1)
      await bound.refreshLease(runId, TTL_MS)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
    })

    test('a runner that has given its run up holds nothing', async () => {
      const { adapter } = store()
      const { runId, bound } = await pausedRun(adapter)
      await expect(bound.onRunResumed(runId)).rejects.toMatchObject({ code: 'SF801' })
      await expect(bound.refreshLease(runId, TTL_MS)).rejects.toMatchObject({ code: 'SF801' })
    })

    test('giving up what was taken away by the sweep or a cancellation is no error and changes nothing', async () => {
      const { adapter, advance } = store()
      const cancelled = await claimedRun(adapter)
      await adapter.cancelRun(cancelled.runId, 'not wanted any more')
      const swept = await claimedRun(adapter)
      await advance(TTL_MS + 1000)
      await adapter.expireOldLeases(SWEEP)
      for (const { runId, bound } of [cancelled, swept]) {
        const before = await everythingOf(adapter, runId)
        await bound.clearLease(runId)
        await bound.releaseRun(runId, { delayMs: 5000, reason: 'drain' })
        expect(await everythingOf(adapter, runId)).toEqual(before)
      }
    })

    test('a second lease is refused while another runner holds the run', async () => {
      const { adapter } = store()
      const { runId } = await heldRun(adapter)
      await expect(adapter.writeLease(runId, 'runner-b', TTL_MS)).rejects.toMatchObject({ code: 'SF801' })
      expect(await readRun(adapter, runId)).toMatchObject({ leasedBy: 'runner-a', claimAttempts: 1 })
    })

    test('a run that nobody holds is written without a claim', async () => {
      const { adapter } = store()
      const runId = await startRun(adapter)
      await adapter.onNodeStart(runId, 'pack', { attempt: 1 })
      await adapter.onNodeComplete(runId, 'pack', 1)
      await adapter.onRunComplete(runId, { output: 1, durationMs: 1 })
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'success', output: 1 })
    })

    test('what people decide needs no claim, also through an adapter whose claim is lost', async () => {
      const { adapter } = store()
      const { bound } = await stolenRun()
      const { runId } = await pausedRun(adapter)
      expect(await bound.resumeWait(runId, 'approve', 'yes')).toBe('accepted')
      expect(await bound.cancelRun(runId, 'not wanted any more')).toBe(true)
      expect(await bound.retryRun(runId)).toBe(true)
      expect(await bound.readRun(runId)).toMatchObject({ status: 'queued' })
    })

    test('adapters bound to different claims of one store do not disturb each other', async () => {
      const { adapter } = store()
      const first = await claimedRun(adapter)
      const second = await claimedRun(adapter)
      await first.bound.onRunError(first.runId, FAILURE)
      await second.bound.onNodeComplete(second.runId, 'pack', 2)
      await first.bound.close()
      await second.bound.onRunComplete(second.runId, { output: 2, durationMs: 1 })
      expect(await readRun(adapter, first.runId)).toMatchObject({ status: 'error' })
      expect(await readRun(adapter, second.runId)).toMatchObject({ status: 'success' })
      expect(await enqueue(adapter)).toEqual(expect.any(String))
    })
  })
}

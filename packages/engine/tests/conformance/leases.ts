import { describe, expect, test } from 'vitest'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import {
  beat,
  between,
  claim,
  claimedRun,
  enqueue,
  eventTypes,
  expectAbout,
  FAILURE,
  type HeldRun,
  heldRun,
  pause,
  pausedRun,
  readRun,
  SWEEP,
  startRun,
  TTL_MS,
  takeRun,
} from './run-fixture.ts'

const OVER = TTL_MS + 1000

/** What becomes of runs whose runner is gone. */
export function describeLeases(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: leases and the sweep`, () => {
    const store = useStore(factory)

    /** Loses the runner of a run and lets another one take it, so many times. */
    async function lose(held: HeldRun, times: number): Promise<HeldRun> {
      const { adapter, advance } = store()
      let current = held
      for (let loss = 0; loss < times; loss++) {
        await advance(OVER)
        expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId: held.runId, outcome: 'requeued' }])
        current = await takeRun(adapter, held.runId, `runner-${loss}`)
      }
      return current
    }

    test('the run of a lost runner is queued again and goes on with another one', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await claimedRun(adapter)
      await bound.onNodeComplete(runId, 'pack', 1)
      await advance(OVER)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId, outcome: 'requeued' }])
      const run = await readRun(adapter, runId)
      expect(run).toMatchObject({
        status: 'queued',
        claimState: 'queued',
        leasedBy: null,
        leaseUntil: null,
        claimAttempts: 1,
      })
      expect(run.availableAt).toBe(run.queuedAt)
      expect((await adapter.readEvents(runId)).at(-1)).toMatchObject({
        type: 'runner_lost',
        nodeId: null,
        payload: { runner_id: 'runner-a', reason: 'runner_lost' },
      })
      expect((await claim(adapter, 'runner-b'))?.claim.claimAttempts).toBe(2)
    })

    test('a lease that is not over is left alone, also after many refreshes', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await claimedRun(adapter)
      for (let refresh = 0; refresh < 4; refresh++) {
        await advance(TTL_MS / 2)
        expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
        await bound.refreshLease(runId, TTL_MS)
      }
      expect(await readRun(adapter, runId)).toMatchObject({ claimState: 'running', leasedBy: 'runner-a' })
    })

    test('a run that was claimed and never started is found', async () => {
      const { adapter, advance } = store()
      const runId = await enqueue(adapter)
      await claim(adapter)
      await advance(OVER)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId, outcome: 'requeued' }])
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'queued', claimState: 'queued' })
    })

    test('a run that started without a lease is found after the time of one', async () => {
      const { adapter, advance } = store()
      const runId = await startRun(adapter)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
      await advance(OVER)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId, outcome: 'requeued' }])
      expect(await eventTypes(adapter, runId)).toEqual(['run_started', 'runner_lost'])
    })

    test('a run whose runner died within a pause is queued again and stays paused', async () => {
      const { adapter, advance } = store()
      const held = await claimedRun(adapter)
      await pause(held)
      await advance(OVER)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId: held.runId, outcome: 'requeued' }])
      expect(await readRun(adapter, held.runId)).toMatchObject({
        status: 'paused',
        claimState: 'queued',
        checkpoint: { variables: { colour: 'green' } },
      })
    })

    test('a run that waits holds no lease and is not touched, however long', async () => {
      const { adapter, advance } = store()
      const { runId } = await pausedRun(adapter)
      await advance(365 * 86_400_000)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'paused', claimState: 'paused' })
    })

    test('a run whose runner died after its end only loses the lease', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await claimedRun(adapter)
      await bound.onRunComplete(runId, { output: 1, durationMs: 1 })
      await advance(OVER)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
      expect(await readRun(adapter, runId)).toMatchObject({
        status: 'success',
        claimState: 'complete',
        leasedBy: null,
        leaseUntil: null,
      })
      expect((await eventTypes(adapter, runId)).at(-1)).toBe('run_completed')
    })

    test('a run survives three lost runners; the fourth loss abandons it', async () => {
      const { adapter, advance } = store()
      const held = await lose(await claimedRun(adapter), 3)
      await held.bound.sessionSet('cart', 'total', 7, { runId: held.runId })
      await advance(OVER)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId: held.runId, outcome: 'abandoned' }])
      const run = await readRun(adapter, held.runId)
      expect(run).toMatchObject({
        status: 'error',
        claimState: 'abandoned',
        error: 'runner_lost',
        leasedBy: null,
        checkpoint: null,
      })
      expect(run.completedAt).not.toBeNull()
      expect((await eventTypes(adapter, held.runId)).slice(-2)).toEqual(['runner_lost', 'run_failed'])
      expect(await adapter.sessionGet('cart', 'total')).toBeNull()
      expect(await claim(adapter)).toBeNull()
    })

    test('a completed node gives a run its chances back', async () => {
      const { adapter, advance } = store()
      const held = await lose(await claimedRun(adapter), 3)
      await held.bound.onNodeComplete(held.runId, 'pack', 1)
      await advance(OVER)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId: held.runId, outcome: 'requeued' }])
    })

    test('an abandoned run that is retried has its chances back', async () => {
      const { adapter, advance } = store()
      const held = await lose(await claimedRun(adapter), 3)
      await advance(OVER)
      await adapter.expireOldLeases(SWEEP)
      expect(await adapter.retryRun(held.runId)).toBe(true)
      await lose(await takeRun(adapter, held.runId), 1)
    })

    test('a run that was given back by its runner has lost none', async () => {
      const { adapter, advance } = store()
      let { runId, bound } = await claimedRun(adapter)
      for (let time = 0; time < 5; time++) {
        await bound.releaseRun(runId, { delayMs: 0, reason: 'drain' })
        ;({ bound } = await takeRun(adapter, runId))
      }
      await advance(OVER)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId, outcome: 'requeued' }])
    })

    test('sweeps at the same time take each run once', async () => {
      const { adapter, connect, advance } = store()
      const { runId } = await claimedRun(adapter)
      await advance(OVER)
      const sweepers = [adapter, await connect(), await connect()]
      const swept = await Promise.all(sweepers.map((each) => each.expireOldLeases(SWEEP)))
      expect(swept.flat()).toEqual([{ runId, outcome: 'requeued' }])
      expect((await eventTypes(adapter, runId)).filter((type) => type === 'runner_lost')).toHaveLength(1)
    })

    test('one heartbeat refreshes all the runs of a runner', async () => {
      const { adapter, advance } = store()
      const runs = [await claimedRun(adapter), await claimedRun(adapter), await heldRun(adapter)]
      const before = await Promise.all(runs.map(({ runId }) => readRun(adapter, runId)))
      await advance(10_000)
      expect(await adapter.heartbeat(beat({ claims: runs.map((run) => run.claim) }))).toEqual({ lost: [] })
      for (const [index, { runId }] of runs.entries()) {
        const run = await readRun(adapter, runId)
        expectAbout(between(before[index]!.leaseUntil, run.leaseUntil), 10_000)
        expect(between(run.lastHeartbeat, run.leaseUntil)).toBe(TTL_MS)
      }
    })

    test('a heartbeat tells which claims are lost, and refreshes the others', async () => {
      const { adapter, advance } = store()
      const cancelled = await claimedRun(adapter)
      const stolen = await claimedRun(adapter)
      await advance(OVER)
      await adapter.expireOldLeases(SWEEP)
      await adapter.cancelRun(cancelled.runId, 'not wanted any more')
      await takeRun(adapter, stolen.runId, 'runner-b')
      const kept = await claimedRun(adapter)
      const before = await readRun(adapter, stolen.runId)
      await advance(5000)
      const { lost } = await adapter.heartbeat(beat({ claims: [cancelled.claim, kept.claim, stolen.claim] }))
      expect(lost.map(({ runId }) => runId).toSorted()).toEqual([cancelled.runId, stolen.runId].toSorted())
      expect(lost).toContainEqual(stolen.claim)
      expect(await readRun(adapter, stolen.runId)).toEqual(before)
      await advance(TTL_MS - 4000)
      expect((await adapter.expireOldLeases(SWEEP)).map(({ runId }) => runId)).toEqual([stolen.runId])
    })

    test('the end of a run that a runner still holds is not lost to its heartbeat', async () => {
      const { adapter } = store()
      const { runId, bound, claim: held } = await claimedRun(adapter)
      await bound.onRunError(runId, FAILURE)
      expect(await adapter.heartbeat(beat({ claims: [held] }))).toEqual({ lost: [] })
      await bound.clearLease(runId)
      expect(await adapter.heartbeat(beat({ claims: [held] }))).toEqual({ lost: [held] })
    })
  })
}

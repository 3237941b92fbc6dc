import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import {
  between,
  claim,
  claimedRun,
  enqueue,
  eventTypes,
  FAILURE,
  pause,
  pausedRun,
  readRun,
  SWEEP,
  takeRun,
} from './run-fixture.ts'

const HOUR_MS = 3_600_000

/** Durable waits: resumed once, from any process, early, late or at the moment of something else. */
export function describeWaits(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: durable waits`, () => {
    const store = useStore(factory)

    test('a wait is open until its time, by the clock of the store', async () => {
      const { adapter } = store()
      const { runId, bound } = await claimedRun(adapter)
      const wait = await bound.openWait(runId, { nodeId: 'approve', timeoutMs: HOUR_MS })
      expect(wait).toMatchObject({ runId, nodeId: 'approve', status: 'open', payload: null })
      expect(between(wait.openedAt, wait.dueAt)).toBe(HOUR_MS)
      const endless = await bound.openWait(runId, { nodeId: 'sign', timeoutMs: null })
      expect(endless.dueAt).toBeNull()
      expect((await adapter.readWaits(runId)).map(({ nodeId }) => nodeId).toSorted()).toEqual(['approve', 'sign'])
    })

    test('a resume stores the payload and queues the run, which stays paused with its checkpoint until it goes on', async () => {
      const { adapter, connect } = store()
      const { runId } = await pausedRun(adapter, HOUR_MS)
      const other = await connect()
      expect(await other.resumeWait(runId, 'approve', { by: 'Ada', ok: true })).toBe('accepted')
      expect(await readRun(adapter, runId)).toMatchObject({
        status: 'paused',
        claimState: 'queued',
        checkpoint: { variables: { colour: 'green' } },
      })
      expect(await adapter.readWaits(runId)).toMatchObject([{ status: 'resumed', payload: { by: 'Ada', ok: true } }])
      const next = await takeRun(other, runId, 'runner-b')
      expect(await readRun(adapter, runId)).toMatchObject({
        status: 'paused',
        claimState: 'running',
        leasedBy: 'runner-b',
      })
      await next.bound.onRunResumed(runId)
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'running', checkpoint: null })
      expect(await eventTypes(adapter, runId)).toEqual(['run_started', 'run_paused', 'run_resumed'])
    })

    test.each([null, false, 0, '', { nested: [null] }])('the payload %j is kept as it is', async (payload) => {
      const { adapter } = store()
      const { runId } = await pausedRun(adapter)
      expect(await adapter.resumeWait(runId, 'approve', payload)).toBe('accepted')
      expect((await adapter.readWaits(runId))[0]).toMatchObject({ status: 'resumed', payload })
    })

    test('a wait is resumed once: the second payload is refused', async () => {
      const { adapter } = store()
      const { runId } = await pausedRun(adapter)
      expect(await adapter.resumeWait(runId, 'approve', 'yes')).toBe('accepted')
      expect(await adapter.resumeWait(runId, 'approve', 'no')).toBe('already_resumed')
      expect((await adapter.readWaits(runId))[0]).toMatchObject({ status: 'resumed', payload: 'yes' })
    })

    test('of resumes at the same time exactly one is accepted', async () => {
      const { adapter, connect } = store()
      const { runId } = await pausedRun(adapter)
      const senders = [adapter, await connect(), await connect()]
      const outcomes = await Promise.all(senders.map((each, index) => each.resumeWait(runId, 'approve', index)))
      expect(outcomes.toSorted()).toEqual(['accepted', 'already_resumed', 'already_resumed'])
    })

    test('a resume before the wait is open is kept, and ends the wait when it opens', async () => {
      const { adapter } = store()
      const { runId, bound } = await claimedRun(adapter)
      expect(await adapter.resumeWait(runId, 'approve', 'yes')).toBe('early')
      expect(await adapter.resumeWait(runId, 'approve', 'no')).toBe('already_resumed')
      expect(await adapter.readWaits(runId)).toMatchObject([{ status: 'early', payload: 'yes', openedAt: null }])
      const wait = await bound.openWait(runId, { nodeId: 'approve', timeoutMs: HOUR_MS })
      expect(wait).toMatchObject({ status: 'resumed', payload: 'yes' })
      expect(wait.openedAt).not.toBeNull()
    })

    test('a resume of what is no wait of its flow is refused, and nothing of it is kept', async () => {
      const { adapter } = store()
      const { runId } = await claimedRun(adapter)
      for (const node of ['pack', 'nowhere']) expect(await adapter.resumeWait(runId, node, 'yes')).toBe('no_wait')
      expect(await adapter.readWaits(runId)).toEqual([])
    })

    test('a resume while the runner still holds the run queues it when the lease is cleared', async () => {
      const { adapter } = store()
      const held = await claimedRun(adapter)
      await pause(held)
      expect(await adapter.resumeWait(held.runId, 'approve', 'yes')).toBe('accepted')
      expect(await readRun(adapter, held.runId)).toMatchObject({
        status: 'paused',
        claimState: 'running',
        leasedBy: 'runner-a',
      })
      await held.bound.clearLease(held.runId)
      expect(await readRun(adapter, held.runId)).toMatchObject({
        status: 'paused',
        claimState: 'queued',
        leasedBy: null,
      })
      await takeRun(adapter, held.runId, 'runner-b')
    })

    test('a payload that an earlier pause has taken does not queue the run again', async () => {
      const { adapter } = store()
      const first = await pausedRun(adapter)
      await adapter.resumeWait(first.runId, 'approve', 'yes')
      const second = await takeRun(adapter, first.runId, 'runner-b')
      await second.bound.onRunResumed(first.runId)
      await second.bound.onNodeComplete(first.runId, 'approve', 'yes')
      await pause(second, null, 'sign')
      await second.bound.clearLease(first.runId)
      expect(await readRun(adapter, first.runId)).toMatchObject({ status: 'paused', claimState: 'paused' })
      expect(await claim(adapter)).toBeNull()
    })

    test('one of several waits is enough to queue the run', async () => {
      const { adapter } = store()
      const held = await claimedRun(adapter)
      await pause(held, null, 'approve')
      await pause(held, null, 'sign')
      await held.bound.clearLease(held.runId)
      expect(await adapter.resumeWait(held.runId, 'sign', 'yes')).toBe('accepted')
      expect(
        (await adapter.readWaits(held.runId)).map(({ nodeId, status }) => `${nodeId} ${status}`).toSorted(),
      ).toEqual(['approve open', 'sign resumed'])
      await takeRun(adapter, held.runId, 'runner-b')
      expect(await adapter.resumeWait(held.runId, 'approve', 'too')).toBe('accepted')
    })

    test('the sweep times a wait out when it is due, and queues the run', async () => {
      const { adapter, advance } = store()
      const { runId } = await pausedRun(adapter, HOUR_MS)
      await advance(HOUR_MS / 2)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
      await advance(HOUR_MS / 2 + 1)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId, outcome: 'wait_over' }])
      expect(await adapter.readWaits(runId)).toMatchObject([{ status: 'timed_out', payload: null }])
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'paused', claimState: 'queued' })
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
      await takeRun(adapter, runId, 'runner-b')
    })

    test('a resume after the time of the wait is too late, swept or not, and the run goes on', async () => {
      const { adapter, advance } = store()
      const { runId } = await pausedRun(adapter, HOUR_MS)
      await advance(HOUR_MS + 1)
      expect(await adapter.resumeWait(runId, 'approve', 'yes')).toBe('timed_out')
      expect(await adapter.readWaits(runId)).toMatchObject([{ status: 'timed_out', payload: null }])
      await takeRun(adapter, runId, 'runner-b')
      expect(await adapter.resumeWait(runId, 'approve', 'yes')).toBe('timed_out')
    })

    test('a wait that ran out while its runner still held the run queues it when the lease is cleared', async () => {
      const { adapter, advance } = store()
      const held = await claimedRun(adapter)
      await pause(held, 1000)
      await advance(2000)
      expect(await adapter.resumeWait(held.runId, 'approve', 'yes')).toBe('timed_out')
      await held.bound.clearLease(held.runId)
      await takeRun(adapter, held.runId, 'runner-b')
    })

    /** A run that waits for `approve`, with something else to do in an hour. */
    async function pausedBehindDelay(timeoutMs: number | null = null): Promise<string> {
      const { adapter } = store()
      const held = await claimedRun(adapter)
      await pause(held, timeoutMs)
      await held.bound.releaseRun(held.runId, { delayMs: HOUR_MS, reason: 'delay' })
      expect(await readRun(adapter, held.runId)).toMatchObject({
        status: 'paused',
        claimState: 'queued',
        leasedBy: null,
      })
      expect(await claim(adapter)).toBeNull()
      return held.runId
    }

    test('a run that waits behind a delay goes on at once when its wait is over, by a resume or its timeout', async () => {
      const { adapter, advance } = store()
      const resumed = await pausedBehindDelay()
      expect(await adapter.resumeWait(resumed, 'approve', 'yes')).toBe('accepted')
      await takeRun(adapter, resumed, 'runner-b')
      const swept = await pausedBehindDelay(1000)
      await advance(2000)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId: swept, outcome: 'wait_over' }])
      await takeRun(adapter, swept, 'runner-b')
    })

    test('a run that waits behind a delay goes on when that has passed, and its wait stays open', async () => {
      const { adapter, advance } = store()
      const runId = await pausedBehindDelay()
      await advance(HOUR_MS + 1)
      const { bound } = await takeRun(adapter, runId, 'runner-b')
      await bound.onRunResumed(runId)
      expect(await adapter.readWaits(runId)).toMatchObject([{ status: 'open' }])
      expect(await adapter.resumeWait(runId, 'approve', 'yes')).toBe('accepted')
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'running', leasedBy: 'runner-b' })
    })

    test('a wait that ended while its runner still held the run leaves no delay before it', async () => {
      const { adapter } = store()
      const held = await claimedRun(adapter)
      await pause(held)
      expect(await adapter.resumeWait(held.runId, 'approve', 'yes')).toBe('accepted')
      await held.bound.releaseRun(held.runId, { delayMs: HOUR_MS, reason: 'delay' })
      await takeRun(adapter, held.runId, 'runner-b')
    })

    test('a resume of a run that was cancelled is answered, and changes nothing', async () => {
      const { adapter } = store()
      const { runId } = await pausedRun(adapter)
      await adapter.cancelRun(runId, 'not wanted any more')
      expect(await adapter.resumeWait(runId, 'approve', 'yes')).toBe('run_ended')
      expect(await readRun(adapter, runId)).toMatchObject({ status: 'cancelled', claimState: 'complete' })
    })

    test('a resume of a run that is not there finds none', async () => {
      const { adapter } = store()
      expect(await adapter.resumeWait(randomUUID(), 'approve', 'yes')).toBe('not_found')
      expect(await adapter.readWaits(randomUUID())).toEqual([])
    })

    test('a failed run that is retried keeps the payloads that it was given, and opens its other waits again', async () => {
      const { adapter, advance } = store()
      const held = await claimedRun(adapter)
      await adapter.resumeWait(held.runId, 'sign', 'yes')
      await pause(held, HOUR_MS, 'approve')
      await held.bound.openWait(held.runId, { nodeId: 'sign', timeoutMs: null })
      await held.bound.onNodeComplete(held.runId, 'sign', 'yes')
      await held.bound.clearLease(held.runId)
      await advance(HOUR_MS + 1)
      await adapter.expireOldLeases(SWEEP)
      const failing = await takeRun(adapter, held.runId)
      await failing.bound.onRunResumed(held.runId)
      await failing.bound.onNodeError(held.runId, 'approve', { attempt: 1, error: FAILURE })
      await failing.bound.onRunError(held.runId, FAILURE)
      await failing.bound.clearLease(held.runId)
      await adapter.retryRun(held.runId)
      expect(await adapter.readWaits(held.runId)).toMatchObject([{ nodeId: 'sign', status: 'resumed', payload: 'yes' }])
      const again = await takeRun(adapter, held.runId)
      const wait = await again.bound.openWait(held.runId, { nodeId: 'approve', timeoutMs: HOUR_MS })
      expect(wait.status).toBe('open')
      expect(between((await readRun(adapter, held.runId)).startedAt, wait.dueAt)).toBeGreaterThan(2 * HOUR_MS - 1)
    })

    test('the inbox has the open waits of runs without an end, the oldest first, by workspace', async () => {
      const { adapter, advance } = store()
      const first = await pausedRun(adapter)
      await advance(1000)
      const resumed = await pausedRun(adapter)
      await adapter.resumeWait(resumed.runId, 'approve', 'yes')
      await claim(adapter)
      const cancelled = await pausedRun(adapter)
      await adapter.cancelRun(cancelled.runId, 'not wanted any more')
      await advance(1000)
      const last = await pausedRun(adapter)
      const inbox = await adapter.listOpenWaits({ limit: 10 })
      expect(inbox.map(({ runId }) => runId)).toEqual([first.runId, last.runId])
      const { templateId } = await readRun(adapter, first.runId)
      expect(inbox[0]).toMatchObject({ nodeId: 'approve', templateId })
      expect(await adapter.listOpenWaits({ limit: 1 })).toHaveLength(1)
      expect(await adapter.listOpenWaits({ workspaceId: 'acme', limit: 10 })).toEqual(inbox)
      expect(await adapter.listOpenWaits({ workspaceId: 'globex', limit: 10 })).toEqual([])
    })

    test('a run that does not wait is not queued by a payload for later', async () => {
      const { adapter } = store()
      const runId = await enqueue(adapter)
      expect(await adapter.resumeWait(runId, 'approve', 'yes')).toBe('early')
      const held = await pausedRunAt(adapter, runId)
      expect(await readRun(adapter, runId)).toMatchObject({ claimState: 'paused' })
      expect(await adapter.resumeWait(held, 'gift', 'later')).toBe('early')
      expect(await readRun(adapter, runId)).toMatchObject({ claimState: 'paused' })
    })
  })
}

/** Pauses a queued run at another wait than the one that has its payload. */
async function pausedRunAt(adapter: QueueingStateAdapter, runId: string): Promise<string> {
  const held = await takeRun(adapter, runId)
  await pause(held, null, 'sign')
  await held.bound.clearLease(runId)
  return runId
}

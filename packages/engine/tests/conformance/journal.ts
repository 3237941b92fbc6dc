import { describe, expect, test } from 'vitest'
import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import {
  between,
  expectAbout,
  FAILURE,
  heldRun,
  lastEvent,
  pause,
  readRun,
  start,
  startRun,
  TTL_MS,
} from './run-fixture.ts'

/** What each boundary of an executing run leaves in its row. */
export function describeJournal(factory: AdapterFactory<WorkflowStateAdapter>): void {
  describe(`${factory.name}: the journal of a run`, () => {
    const store = useStore(factory)

    test('the start of a run that was never enqueued inserts it as running, held by nobody', async () => {
      const { adapter } = store()
      const runId = await startRun(adapter, { input: { list: [1, 'two', null] } })
      expect(await adapter.readRun(runId)).toEqual({
        runId,
        templateId: 'orders',
        workspaceId: 'acme',
        env: 'prod',
        status: 'running',
        claimState: 'running',
        input: { list: [1, 'two', null] },
        output: null,
        error: null,
        definitionId: null,
        runnerPool: null,
        leasedBy: null,
        leaseUntil: null,
        lastHeartbeat: null,
        claimAttempts: 0,
        checkpoint: null,
        createdAt: expect.any(String),
        queuedAt: null,
        availableAt: null,
        startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/),
        completedAt: null,
        cancelledAt: null,
        durationMs: null,
        traceparent: null,
      })
      expect(await lastEvent(adapter, runId)).toMatchObject({ runId, type: 'run_started', nodeId: null })
    })

    test('a run id that another flow or another workspace has is refused at the start', async () => {
      const { adapter } = store()
      const runId = await startRun(adapter)
      for (const other of [{ templateId: 'invoices' }, { workspaceId: 'globex' }]) {
        await expect(adapter.onRunStart(runId, start(other))).rejects.toMatchObject({ code: 'SF202' })
      }
      expect(await readRun(adapter, runId)).toMatchObject({ templateId: 'orders', workspaceId: 'acme' })
    })

    test('a lease names its runner, and ends its time to live after it was written', async () => {
      const { adapter } = store()
      const { runId, claim } = await heldRun(adapter)
      expect(claim).toEqual({ runId, runnerId: 'runner-a', claimAttempts: 1 })
      const run = await readRun(adapter, runId)
      expect(run).toMatchObject({ claimState: 'running', leasedBy: 'runner-a', claimAttempts: 1 })
      expect(between(run.lastHeartbeat, run.leaseUntil)).toBe(TTL_MS)
      expectAbout(between(run.startedAt, run.lastHeartbeat), 0)
    })

    test('a refresh extends the lease from now on', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await heldRun(adapter)
      const before = await readRun(adapter, runId)
      await advance(20_000)
      await bound.refreshLease(runId, TTL_MS)
      const after = await readRun(adapter, runId)
      expectAbout(between(before.leaseUntil, after.leaseUntil), 20_000)
      expect(between(after.lastHeartbeat, after.leaseUntil)).toBe(TTL_MS)
    })

    test('a pause keeps the checkpoint, and a resume clears it', async () => {
      const { adapter } = store()
      const held = await heldRun(adapter)
      await pause(held)
      expect(await readRun(adapter, held.runId)).toMatchObject({
        status: 'paused',
        claimState: 'running',
        leasedBy: 'runner-a',
        checkpoint: { variables: { colour: 'green' } },
      })
      await held.bound.onRunResumed(held.runId)
      expect(await readRun(adapter, held.runId)).toMatchObject({ status: 'running', checkpoint: null })
    })

    test('a later checkpoint replaces the earlier one', async () => {
      const { adapter } = store()
      const held = await heldRun(adapter)
      const { runId, bound } = held
      await pause(held)
      await bound.saveCheckpoint(runId, { variables: { a: 1, b: 2 } })
      await bound.saveCheckpoint(runId, { variables: { a: 3 } })
      expect((await readRun(adapter, runId)).checkpoint).toEqual({ variables: { a: 3 } })
    })

    test('a run that completes has its output, duration and end, and no checkpoint', async () => {
      const { adapter, advance } = store()
      const held = await heldRun(adapter)
      await pause(held)
      await advance(1000)
      await held.bound.onRunComplete(held.runId, { output: { sent: true }, durationMs: 987 })
      const run = await readRun(adapter, held.runId)
      expect(run).toMatchObject({
        status: 'success',
        output: { sent: true },
        durationMs: 987,
        checkpoint: null,
        error: null,
      })
      expectAbout(between(run.startedAt, run.completedAt), 1000)
      expect(await lastEvent(adapter, held.runId)).toMatchObject({
        type: 'run_completed',
        payload: { duration_ms: 987 },
      })
    })

    test('a run that fails has the message and an end, no output and no checkpoint', async () => {
      const { adapter } = store()
      const held = await heldRun(adapter)
      await pause(held)
      await held.bound.onRunError(held.runId, FAILURE)
      const run = await readRun(adapter, held.runId)
      expect(run).toMatchObject({ status: 'error', error: 'The parcel is empty.', output: null, checkpoint: null })
      expect(run.completedAt).not.toBeNull()
      expect(await lastEvent(adapter, held.runId)).toMatchObject({ type: 'run_failed', payload: { error: FAILURE } })
    })

    test.each([
      ['paused', 'paused', (held) => held.bound.onRunPaused(held.runId, { nodeIds: ['approve'] })],
      ['success', 'complete', (held) => held.bound.onRunComplete(held.runId, { output: null, durationMs: 1 })],
      ['error', 'failed', (held) => held.bound.onRunError(held.runId, FAILURE)],
    ] as [string, string, (held: Awaited<ReturnType<typeof heldRun>>) => Promise<void>][])(
      'a cleared lease leaves a run of status %s with claim state %s, held by nobody',
      async (status, claimState, end) => {
        const { adapter } = store()
        const held = await heldRun(adapter)
        await end(held)
        expect(await readRun(adapter, held.runId)).toMatchObject({ status, leasedBy: 'runner-a' })
        await held.bound.clearLease(held.runId)
        expect(await readRun(adapter, held.runId)).toMatchObject({
          status,
          claimState,
          leasedBy: null,
          leaseUntil: null,
          claimAttempts: 1,
        })
      },
    )

    test.each([0, false, '', null, [], {}, 'Zoë 🚚 "quoted" \\ \n', 9007199254740991, -1.5, [[1], { a: null }]])(
      'the value %j comes back as it was, from the input to the output',
      async (value) => {
        const { adapter } = store()
        const { runId, bound } = await heldRun(adapter, { input: value })
        await bound.onNodeComplete(runId, 'pack', value)
        await bound.onVariableSet(runId, 'value', value)
        await bound.onRunComplete(runId, { output: value, durationMs: 1 })
        expect(await readRun(adapter, runId)).toMatchObject({ input: value, output: value })
        const events = await adapter.readEvents(runId)
        expect(events.find(({ type }) => type === 'node_complete')?.payload?.output).toEqual(value)
        expect(events.find(({ type }) => type === 'variable')?.payload).toEqual({ key: 'value', value })
      },
    )

    test('an output of a megabyte is kept whole', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      const output = 'é'.repeat(500_000)
      await bound.onNodeComplete(runId, 'pack', output)
      await bound.onRunComplete(runId, { output, durationMs: 1 })
      expect((await readRun(adapter, runId)).output).toBe(output)
    })

    test('the progress of a step leaves nothing behind', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      const before = await adapter.readEvents(runId)
      await bound.onStepProgress(runId, 'pack', { done: 0.5 })
      expect(await adapter.readEvents(runId)).toEqual(before)
    })
  })
}

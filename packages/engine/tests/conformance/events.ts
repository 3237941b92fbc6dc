import { describe, expect, test } from 'vitest'
import { RUN_EVENT_TYPES } from '../../src/run-record.ts'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { claimedRun, eventTypes, FAILURE, heldRun, pause, takeRun } from './run-fixture.ts'

/** The log of a run: what it holds, and in which order. */
export function describeEvents(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: events`, () => {
    const store = useStore(factory)

    test('a run tells its whole life in the order in which it happened', async () => {
      const { adapter } = store()
      const first = await claimedRun(adapter)
      const { runId } = first
      await first.bound.onNodeStart(runId, 'pack', { attempt: 1, input: { n: 1 } })
      await first.bound.onNodeRetry(runId, 'pack', { attempt: 1, error: FAILURE, delayMs: 10 })
      await first.bound.onNodeStart(runId, 'pack', { attempt: 2 })
      await first.bound.onNodeComplete(runId, 'pack', { weight: 3 }, { attempt: 2, durationMs: 15 })
      await first.bound.onNodeSkip(runId, 'gift', 'condition_unmet')
      await first.bound.recordPhaseIfChanged(runId, 'packing')
      await first.bound.onVariableSet(runId, 'colour', 'green')
      await first.bound.releaseRun(runId, { delayMs: 0, reason: 'drain' })
      const second = await takeRun(adapter, runId, 'runner-b')
      await pause(second)
      await second.bound.onRunResumed(runId)
      await second.bound.onNodeError(runId, 'send', { attempt: 1, error: FAILURE })
      await second.bound.onRunError(runId, FAILURE)
      const events = await adapter.readEvents(runId)
      expect(events.map(({ type, nodeId, payload }) => ({ type, nodeId, payload }))).toMatchObject([
        { type: 'run_started', nodeId: null },
        { type: 'node_start', nodeId: 'pack', payload: { attempt: 1, input: { n: 1 } } },
        {
          type: 'node_retry',
          nodeId: 'pack',
          payload: { attempt: 1, error: FAILURE, delay_ms: 10, due_at: expect.any(String) },
        },
        { type: 'node_start', nodeId: 'pack', payload: { attempt: 2 } },
        { type: 'node_complete', nodeId: 'pack', payload: { output: { weight: 3 }, attempt: 2, duration_ms: 15 } },
        { type: 'node_skip', nodeId: 'gift', payload: { reason: 'condition_unmet' } },
        { type: 'phase', nodeId: null, payload: { phase: 'packing' } },
        { type: 'variable', nodeId: null, payload: { key: 'colour', value: 'green' } },
        { type: 'run_released', nodeId: null, payload: { reason: 'drain' } },
        { type: 'run_paused', nodeId: null, payload: { nodes: ['approve'] } },
        { type: 'run_resumed', nodeId: null },
        { type: 'node_error', nodeId: 'send', payload: { attempt: 1, error: FAILURE } },
        { type: 'run_failed', nodeId: null, payload: { error: FAILURE } },
      ])
      expect(events.every((event) => event.runId === runId)).toBe(true)
      expect(events.every(({ type }) => RUN_EVENT_TYPES.includes(type))).toBe(true)
    })

    test('ids are decimal and grow, and times do not go back', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await heldRun(adapter)
      for (let index = 0; index < 12; index++) {
        await bound.onNodeComplete(runId, `pack[${index}]`, index)
        if (index % 4 === 0) await advance(100)
      }
      const events = await adapter.readEvents(runId)
      expect(events).toHaveLength(13)
      for (const [index, event] of events.entries()) {
        expect(event.id).toMatch(/^[1-9]\d*$/)
        expect(new Date(event.createdAt).toISOString().slice(0, 23)).toBe(event.createdAt.slice(0, 23))
        const earlier = events[index - 1]
        if (earlier === undefined) continue
        expect(BigInt(event.id)).toBeGreaterThan(BigInt(earlier.id))
        expect(Date.parse(event.createdAt)).toBeGreaterThanOrEqual(Date.parse(earlier.createdAt))
      }
    })

    test('events are read in pages, each after the last one of the page before', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      const other = await heldRun(adapter)
      for (let index = 0; index < 6; index++) {
        await bound.onNodeSkip(runId, `gift[${index}]`, 'dependency_skipped')
        await other.bound.onNodeSkip(other.runId, `gift[${index}]`, 'dependency_skipped')
      }
      const all = await adapter.readEvents(runId)
      const first = await adapter.readEvents(runId, { limit: 3 })
      const second = await adapter.readEvents(runId, { afterId: first.at(-1)!.id, limit: 3 })
      const rest = await adapter.readEvents(runId, { afterId: second.at(-1)!.id })
      expect([...first, ...second, ...rest]).toEqual(all)
      expect([first.length, second.length, rest.length]).toEqual([3, 3, 1])
      expect(await adapter.readEvents(runId, { afterId: all.at(-1)!.id })).toEqual([])
      const { nodeId } = all.find((event) => event.nodeId !== null)!
      const ofNode = all.filter((event) => event.nodeId === nodeId)
      expect(await adapter.readEvents(runId, { nodeId: nodeId! })).toEqual(ofNode)
      expect(await adapter.readEvents(runId, { nodeId: 'nowhere' })).toEqual([])
    })

    test('without a limit the whole log is read, also one of more than a thousand events', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      for (let batch = 0; batch < 11; batch++) {
        const indexes = Array.from({ length: 100 }, (_, index) => batch * 100 + index)
        await Promise.all(indexes.map((index) => bound.onNodeComplete(runId, `pack[${index}]`, index)))
      }
      const events = await adapter.readEvents(runId)
      expect(events).toHaveLength(1101)
      expect(new Set(events.map(({ nodeId }) => nodeId)).size).toBe(1101)
    })

    test('a phase is told when it changes, and when it comes back', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      for (const phase of ['pack', 'pack', 'send', 'pack']) {
        await bound.recordPhaseIfChanged(runId, phase)
        await bound.onVariableSet(runId, 'last', phase)
      }
      const phases = (await adapter.readEvents(runId)).filter(({ type }) => type === 'phase')
      expect(phases.map(({ payload }) => payload?.phase)).toEqual(['pack', 'send', 'pack'])
    })

    test('a variable is told when its value changes, each key by itself', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      const values = [{ a: 1, b: [2] }, { b: [2], a: 1 }, null, 'x', 'x']
      for (const value of values) {
        await bound.onVariableSet(runId, 'colour', value)
        await bound.onVariableSet(runId, 'size', 1)
      }
      const variables = (await adapter.readEvents(runId)).filter(({ type }) => type === 'variable')
      expect(variables.map(({ payload }) => payload)).toEqual([
        { key: 'colour', value: { a: 1, b: [2] } },
        { key: 'size', value: 1 },
        { key: 'colour', value: null },
        { key: 'colour', value: 'x' },
      ])
    })

    test('every end is told once', async () => {
      const { adapter } = store()
      const completed = await claimedRun(adapter)
      await completed.bound.onRunComplete(completed.runId, { output: 1, durationMs: 2 })
      const failed = await claimedRun(adapter)
      await failed.bound.onRunError(failed.runId, FAILURE)
      const cancelled = await claimedRun(adapter)
      await adapter.cancelRun(cancelled.runId, 'not wanted any more')
      expect(await eventTypes(adapter, completed.runId)).toEqual(['run_started', 'run_completed'])
      expect(await eventTypes(adapter, failed.runId)).toEqual(['run_started', 'run_failed'])
      expect(await eventTypes(adapter, cancelled.runId)).toEqual(['run_started', 'run_cancelled'])
      expect((await adapter.readEvents(cancelled.runId)).at(-1)?.payload).toMatchObject({
        reason: 'not wanted any more',
      })
    })
  })
}

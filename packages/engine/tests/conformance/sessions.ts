import { describe, expect, test } from 'vitest'
import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { FAILURE, heldRun } from './run-fixture.ts'

const HOUR_MS = 3_600_000

/** Values that steps share, and how long they are kept. */
export function describeSessions(factory: AdapterFactory<WorkflowStateAdapter>): void {
  describe(`${factory.name}: session variables`, () => {
    const store = useStore(factory)

    test.each([7, 0, false, '', null, { items: ['a', { b: null }] }])('%j is read as it was written', async (value) => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      await bound.sessionSet('cart', 'value', value, { runId })
      expect(await adapter.sessionGet('cart', 'value')).toEqual(value)
    })

    test('what was never written is null', async () => {
      const { adapter } = store()
      expect(await adapter.sessionGet('cart', 'total')).toBeNull()
    })

    test('a variable belongs to its session and its key', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      await bound.sessionSet('cart', 'total', 1, { runId })
      await bound.sessionSet('cart', 'count', 2, { runId })
      await bound.sessionSet('desk', 'total', 3, { runId })
      expect(await adapter.sessionGet('cart', 'total')).toBe(1)
      expect(await adapter.sessionGet('cart', 'count')).toBe(2)
      expect(await adapter.sessionGet('desk', 'total')).toBe(3)
    })

    test('a later value replaces the earlier one', async () => {
      const { adapter } = store()
      const { runId, bound } = await heldRun(adapter)
      await bound.sessionSet('cart', 'total', 1, { runId })
      await bound.sessionSet('cart', 'total', 2, { runId })
      expect(await adapter.sessionGet('cart', 'total')).toBe(2)
    })

    test.each([
      ['completes', (adapter, runId) => adapter.onRunComplete(runId, { output: null, durationMs: 1 })],
      ['fails', (adapter, runId) => adapter.onRunError(runId, FAILURE)],
      ['is cancelled', (adapter, runId) => adapter.cancelRun(runId, 'not wanted any more')],
    ] as [string, (adapter: WorkflowStateAdapter, runId: string) => Promise<unknown>][])(
      'when its run %s a variable is dropped, unless it is kept for longer',
      async (_, end) => {
        const { adapter } = store()
        const { runId, bound } = await heldRun(adapter)
        const other = await heldRun(adapter)
        await bound.sessionSet('cart', 'total', 1, { runId })
        await bound.sessionSet('cart', 'customer', 2, { runId, keepForMs: HOUR_MS })
        await other.bound.sessionSet('desk', 'total', 3, { runId: other.runId })
        await end(bound, runId)
        expect(await adapter.sessionGet('cart', 'total')).toBeNull()
        expect(await adapter.sessionGet('cart', 'customer')).toBe(2)
        expect(await adapter.sessionGet('desk', 'total')).toBe(3)
      },
    )

    test('a variable belongs to the run that wrote it last', async () => {
      const { adapter } = store()
      const first = await heldRun(adapter)
      const second = await heldRun(adapter)
      await first.bound.sessionSet('cart', 'total', 1, { runId: first.runId })
      await second.bound.sessionSet('cart', 'total', 2, { runId: second.runId })
      await first.bound.onRunComplete(first.runId, { output: null, durationMs: 1 })
      expect(await adapter.sessionGet('cart', 'total')).toBe(2)
      await second.bound.onRunComplete(second.runId, { output: null, durationMs: 1 })
      expect(await adapter.sessionGet('cart', 'total')).toBeNull()
    })

    test('a variable that was kept for longer is read until then, and not after', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await heldRun(adapter)
      await bound.sessionSet('cart', 'customer', 2, { runId, keepForMs: HOUR_MS })
      await bound.onRunComplete(runId, { output: null, durationMs: 1 })
      await advance(HOUR_MS - 20_000)
      expect(await adapter.sessionGet('cart', 'customer')).toBe(2)
      await advance(20_001)
      expect(await adapter.sessionGet('cart', 'customer')).toBeNull()
    })

    test('collecting removes what is over, tells how many, and leaves the rest', async () => {
      const { adapter, advance } = store()
      const { runId, bound } = await heldRun(adapter)
      await bound.sessionSet('cart', 'a', 1, { runId, keepForMs: 1000 })
      await bound.sessionSet('cart', 'b', 2, { runId, keepForMs: 1000 })
      await bound.sessionSet('cart', 'c', 3, { runId, keepForMs: HOUR_MS })
      await bound.sessionSet('cart', 'd', 4, { runId })
      await advance(2000)
      expect(await adapter.collectSessions()).toBe(2)
      expect(await adapter.collectSessions()).toBe(0)
      expect(await adapter.sessionGet('cart', 'c')).toBe(3)
      expect(await adapter.sessionGet('cart', 'd')).toBe(4)
    })
  })
}

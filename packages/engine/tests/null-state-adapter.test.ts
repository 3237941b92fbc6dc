import { describe, expect, test } from 'vitest'
import { NullWorkflowStateAdapter } from '../src/adapters/null/index.ts'
import type { WorkflowStateAdapter } from '../src/state-adapter.ts'
import type { AdapterFactory } from './conformance/adapter-factory.ts'
import { describeBoundaries } from './conformance/boundaries.ts'
import { describeDefinitions } from './conformance/definitions.ts'
import { heldRun } from './conformance/run-fixture.ts'
import { describeSessions } from './conformance/sessions.ts'

/** Its store is the process: another adapter on it is the same one. */
const nullStores: AdapterFactory<WorkflowStateAdapter> = {
  name: 'nothing',
  async open() {
    let now = 0
    const adapter: WorkflowStateAdapter = new NullWorkflowStateAdapter({ clock: () => now })
    return {
      adapter,
      connect: async () => adapter,
      advance: async (ms) => {
        now += ms
      },
      close: () => adapter.close(),
    }
  },
}

describeBoundaries(nullStores)
describeSessions(nullStores)
describeDefinitions(nullStores)

describe('nothing', () => {
  test('is no queue', () => {
    const adapter: WorkflowStateAdapter = new NullWorkflowStateAdapter()
    expect([adapter.enqueueRun, adapter.claimNextQueuedRun, adapter.heartbeat, adapter.onQueued]).toEqual(
      Array.from({ length: 4 }),
    )
  })

  test('keeps no run', async () => {
    const adapter = new NullWorkflowStateAdapter()
    const { runId, bound } = await heldRun(adapter)
    await bound.onNodeComplete(runId, 'pack', 1)
    expect(await adapter.readRun()).toBeNull()
    expect(await adapter.readEvents()).toEqual([])
    expect(await adapter.listRuns()).toEqual({ runs: [], next: null, lookedUntil: null })
    expect(await adapter.readWaits()).toEqual([])
    expect(await adapter.listOpenWaits()).toEqual([])
    expect(await adapter.resumeWait()).toBe('not_found')
    expect(await adapter.retryRun()).toBe(false)
  })
})

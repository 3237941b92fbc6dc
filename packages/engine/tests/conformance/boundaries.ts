import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { FAILURE, start, startRun, TTL_MS } from './run-fixture.ts'

/** What an engine may count on with every adapter, also with one that keeps nothing. */
export function describeBoundaries(factory: AdapterFactory<WorkflowStateAdapter>): void {
  describe(`${factory.name}: boundaries`, () => {
    const store = useStore(factory)

    test('a run meets its boundaries in order, and each of them answers', async () => {
      const { adapter } = store()
      const runId = randomUUID()
      const { definitionId } = await adapter.saveDefinition({
        flowSlug: 'orders',
        shapeHash: 'a'.repeat(64),
        shape: { steps: [] },
      })
      await adapter.onRunStart(runId, start({ definitionId }))
      const claim = await adapter.writeLease(runId, 'runner-a', TTL_MS)
      expect(claim).toMatchObject({ runId, runnerId: 'runner-a' })
      const bound = adapter.bind(claim)
      await bound.refreshLease(runId, TTL_MS)
      await bound.onNodeStart(runId, 'pack', { attempt: 1 })
      await bound.onNodeRetry(runId, 'pack', { attempt: 1, error: FAILURE, delayMs: 10 })
      await bound.onNodeComplete(runId, 'pack', 3)
      await bound.onNodeSkip(runId, 'gift', 'condition_unmet')
      await bound.onNodeError(runId, 'send', { attempt: 1, error: FAILURE })
      await bound.onVariableSet(runId, 'colour', 'green')
      await bound.onStepProgress(runId, 'pack', 0.5)
      await bound.onRunPaused(runId, { nodeIds: ['approve'] })
      expect(await bound.openWait(runId, { nodeId: 'approve', timeoutMs: null })).toMatchObject({
        runId,
        status: 'open',
      })
      await bound.saveCheckpoint(runId, { variables: {} })
      await bound.recordPhaseIfChanged(runId, 'waiting')
      await bound.onRunResumed(runId)
      await bound.onRunComplete(runId, { output: 3, durationMs: 1 })
      await bound.clearLease(runId)
    })

    test('an adapter names its substrate and may be closed twice', async () => {
      const { connect } = store()
      const adapter = await connect()
      expect(adapter.substrate).toMatch(/^[a-z]+$/)
      await adapter.close()
      await adapter.close()
    })

    test('closing a bound adapter leaves the store open', async () => {
      const { adapter } = store()
      const runId = await startRun(adapter)
      const bound = adapter.bind(await adapter.writeLease(runId, 'runner-a', TTL_MS))
      await bound.close()
      await startRun(adapter)
      await bound.onNodeStart(runId, 'pack', { attempt: 1 })
    })
  })
}

import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'
import { FAILURE, start, TTL_MS } from './run-fixture.ts'

/** Every method that writes an executing run, with a call of it: what fencing and repetition are about. */
export const RUN_WRITES: Readonly<Record<string, (adapter: WorkflowStateAdapter, runId: string) => Promise<unknown>>> =
  {
    onRunStart: (adapter, runId) => adapter.onRunStart(runId, start()),
    refreshLease: (adapter, runId) => adapter.refreshLease(runId, TTL_MS),
    onNodeStart: (adapter, runId) => adapter.onNodeStart(runId, 'pack', { attempt: 1, input: { n: 1 } }),
    onNodeRetry: (adapter, runId) => adapter.onNodeRetry(runId, 'pack', { attempt: 1, error: FAILURE, delayMs: 1000 }),
    onNodeComplete: (adapter, runId) =>
      adapter.onNodeComplete(runId, 'pack', { weight: 3 }, { attempt: 1, durationMs: 5 }),
    onNodeError: (adapter, runId) => adapter.onNodeError(runId, 'label', { attempt: 2, error: FAILURE }),
    onNodeSkip: (adapter, runId) => adapter.onNodeSkip(runId, 'gift', 'condition_unmet'),
    recordPhaseIfChanged: (adapter, runId) => adapter.recordPhaseIfChanged(runId, 'packing'),
    onVariableSet: (adapter, runId) => adapter.onVariableSet(runId, 'colour', 'green'),
    sessionSet: (adapter, runId) => adapter.sessionSet('cart', 'total', 7, { runId }),
    onRunPaused: (adapter, runId) => adapter.onRunPaused(runId, { nodeIds: ['approve'] }),
    openWait: (adapter, runId) => adapter.openWait(runId, { nodeId: 'approve', timeoutMs: 60_000 }),
    saveCheckpoint: (adapter, runId) => adapter.saveCheckpoint(runId, { variables: { colour: 'green' } }),
    onRunResumed: (adapter, runId) => adapter.onRunResumed(runId),
    onRunComplete: (adapter, runId) => adapter.onRunComplete(runId, { output: { sent: true }, durationMs: 1234 }),
    onRunError: (adapter, runId) => adapter.onRunError(runId, FAILURE),
    releaseRun: (adapter, runId) => adapter.releaseRun(runId, { delayMs: 0, reason: 'drain' }),
    clearLease: (adapter, runId) => adapter.clearLease(runId),
  }

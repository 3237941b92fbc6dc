import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import type { DefinitionRecord, RunClaim } from '../../run-record.ts'
import type { ResumeOutcome, RunPage, WaitRecord, WorkflowStateAdapter } from '../../state-adapter.ts'
import { SessionMemory } from './session-memory.ts'

/**
 * Keeps no runs: for tests, and for programs that execute a flow within themselves and can do without it when they end. It has no
 * queue, reads find nothing, and nothing is fenced, since nobody else can know of the run. What the steps of one process share is
 * there while the process is: session variables and definitions. A wait stays open for good, as no other process could resume it;
 * who needs more, without a file, opens a LocalWorkflowStateAdapter on `:memory:`.
 */
export class NullWorkflowStateAdapter implements WorkflowStateAdapter {
  readonly substrate = 'null'
  readonly #sessions: SessionMemory
  readonly #definitions = new Map<string, DefinitionRecord>()

  /** `clock`: for tests; instants in milliseconds. */
  constructor({ clock = Date.now }: { readonly clock?: () => number } = {}) {
    this.#sessions = new SessionMemory(clock)
  }

  bind(): NullWorkflowStateAdapter {
    return this
  }

  async close(): Promise<void> {}

  async onRunStart(): Promise<void> {}
  async refreshLease(): Promise<void> {}
  async onNodeStart(): Promise<void> {}
  async onNodeComplete(): Promise<void> {}
  async onNodeRetry(): Promise<void> {}
  async onNodeError(): Promise<void> {}
  async onNodeSkip(): Promise<void> {}
  async saveCheckpoint(): Promise<void> {}
  async onRunPaused(): Promise<void> {}
  async onRunResumed(): Promise<void> {}
  async clearLease(): Promise<void> {}
  async releaseRun(): Promise<void> {}
  async recordPhaseIfChanged(): Promise<void> {}
  async onVariableSet(): Promise<void> {}
  async onStepProgress(): Promise<void> {}

  async writeLease(runId: string, runnerId: string): Promise<RunClaim> {
    return { runId, runnerId, claimAttempts: 1 }
  }

  async onRunComplete(runId: string): Promise<void> {
    this.#sessions.drop(runId)
  }

  async onRunError(runId: string): Promise<void> {
    this.#sessions.drop(runId)
  }

  async saveDefinition(definition: Omit<DefinitionRecord, 'definitionId'>): Promise<DefinitionRecord> {
    const key = `${definition.flowSlug} ${definition.shapeHash}`
    const kept = this.#definitions.get(key) ?? { definitionId: randomUUID(), ...definition }
    this.#definitions.set(key, kept)
    return kept
  }

  async openWait(
    runId: string,
    { nodeId }: { readonly nodeId: string; readonly timeoutMs: number | null },
  ): Promise<WaitRecord> {
    return { runId, nodeId, status: 'open', payload: null, openedAt: null, dueAt: null }
  }

  async resumeWait(): Promise<ResumeOutcome> {
    return 'not_found'
  }

  async readWaits(): Promise<readonly []> {
    return []
  }

  async listOpenWaits(): Promise<readonly []> {
    return []
  }

  async sessionGet(sessionId: string, key: string): Promise<Json | null> {
    return this.#sessions.get(sessionId, key)
  }

  async sessionSet(
    sessionId: string,
    key: string,
    value: Json,
    options: { readonly runId: string; readonly keepForMs?: number | undefined },
  ): Promise<void> {
    this.#sessions.set(sessionId, key, value, options)
  }

  async collectSessions(): Promise<number> {
    return this.#sessions.collect()
  }

  async readRun(): Promise<null> {
    return null
  }

  async readEvents(): Promise<readonly []> {
    return []
  }

  async readDefinition(definitionId: string): Promise<DefinitionRecord | null> {
    return [...this.#definitions.values()].find((each) => each.definitionId === definitionId) ?? null
  }

  async listRuns(): Promise<RunPage> {
    return { runs: [], next: null, lookedUntil: null }
  }

  async cancelRun(runId: string): Promise<boolean> {
    this.#sessions.drop(runId)
    return false
  }

  async retryRun(): Promise<boolean> {
    return false
  }
}

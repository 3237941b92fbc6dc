import type { Json } from '@starflow/dsl'
import type { LiveRun, MirroredRun } from '../../mirror/live-run.ts'
import type { MirrorChange } from '../../mirror/mirror-source.ts'
import type { Correction, WarmTier } from '../../mirror/warm-tier.ts'
import type { ProjectAccess } from './rest-api.ts'
import { StateFunctions } from './state-functions.ts'

interface LiveRunRow {
  readonly run_id: string
  readonly run: MirroredRun
  readonly active_nodes: LiveRun['activeNodes']
  readonly progress: LiveRun['progress']
  readonly outbox_id: string
}

/**
 * The warm tier in the database of the project itself: an unlogged table, and a broadcast to the private channel of the workspace
 * (`starflow:workspace:<id>`, events `run` and `progress`) with each change. Each method is one function of the schema `starflow`.
 */
export class PostgresWarmTier implements WarmTier {
  readonly #functions: StateFunctions

  constructor(access: ProjectAccess) {
    this.#functions = new StateFunctions(access)
  }

  async apply(changes: readonly MirrorChange[]): Promise<number> {
    return await this.#functions.value('warm_apply', {
      changes: changes.map(({ id, runId, kind, payload, createdAt }) => ({
        ...{ id, run_id: runId, kind, payload, created_at: createdAt },
      })),
    })
  }

  async reportProgress(runId: string, nodeId: string, value: Json): Promise<void> {
    await this.#functions.value('warm_progress', { run_id: runId, node_id: nodeId, value })
  }

  async advance(asOf: string, { isFilled } = { isFilled: false }): Promise<boolean> {
    return await this.#functions.value('warm_advance', { as_of: asOf, is_filled: isFilled })
  }

  async asOf(): Promise<string | null> {
    return await this.#functions.value('warm_as_of', {})
  }

  async readRuns(runIds: readonly string[]): Promise<readonly LiveRun[]> {
    return (await this.#functions.rows<LiveRunRow>('warm_read', { run_ids: runIds })).map(liveRun)
  }

  async listPeers({
    workspaceId,
    limit,
  }: {
    readonly workspaceId?: string | undefined
    readonly limit: number
  }): Promise<readonly LiveRun[]> {
    const args = { workspace_id: workspaceId, max_rows: limit }
    return (await this.#functions.rows<LiveRunRow>('warm_peers', args)).map(liveRun)
  }

  async openRuns(): Promise<readonly string[]> {
    return await this.#functions.value('warm_open', {})
  }

  async correct(corrections: readonly Correction[]): Promise<number> {
    return await this.#functions.value('warm_put', {
      snapshots: corrections.map(({ runId, run, activeNodes, outboxId }) => ({
        ...{ run_id: runId, run, active_nodes: activeNodes, outbox_id: outboxId },
      })),
    })
  }

  async prune(olderThanMs: number): Promise<number> {
    return await this.#functions.value('warm_prune', { older_than_ms: olderThanMs })
  }

  /** Ends calls under way too. */
  close(): void {
    this.#functions.close()
  }
}

function liveRun(row: LiveRunRow): LiveRun {
  const { run_id, run, active_nodes, progress, outbox_id } = row
  return { runId: run_id, run, activeNodes: active_nodes, progress, outboxId: outbox_id }
}

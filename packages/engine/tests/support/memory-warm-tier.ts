import type { Json } from '@starflow/dsl'
import type { ActiveNode, LiveRun, MirroredRun } from '../../src/mirror/live-run.ts'
import type { MirrorChange } from '../../src/mirror/mirror-source.ts'
import type { Correction, WarmTier } from '../../src/mirror/warm-tier.ts'
import { ENDED_STATUSES } from '../../src/run-record.ts'

const ENDS = new Set<unknown>(ENDED_STATUSES)

/** The warm tier in the memory of this process, with an outage to switch on. */
export class MemoryWarmTier implements WarmTier {
  isDown = false
  /** Every change that was new, in the order of its arrival. */
  readonly applied: MirrorChange[] = []
  readonly runs = new Map<string, LiveRun & { changedAt: number }>()
  readonly #progress = new Map<string, { value: Json; at: string }>()
  #asOf: string | null = null

  async apply(changes: readonly MirrorChange[]): Promise<number> {
    this.#answer()
    const before = this.applied.length
    for (const change of changes) if (this.#learn(change)) this.applied.push(change)
    return this.applied.length - before
  }

  async reportProgress(runId: string, nodeId: string, value: Json): Promise<void> {
    this.#answer()
    this.#progress.set(`${runId} ${nodeId}`, { value, at: new Date().toISOString() })
  }

  async advance(asOf: string, { isFilled } = { isFilled: false }): Promise<boolean> {
    this.#answer()
    if (this.#asOf === null && !isFilled) return false
    if (this.#asOf === null || Date.parse(this.#asOf) < Date.parse(asOf)) this.#asOf = asOf
    return true
  }

  async asOf(): Promise<string | null> {
    this.#answer()
    return this.#asOf
  }

  async readRuns(runIds: readonly string[]): Promise<readonly LiveRun[]> {
    this.#answer()
    return runIds.flatMap((runId) => this.runs.get(runId) ?? []).map((run) => this.#shown(run))
  }

  async listPeers({ workspaceId, limit }: { readonly workspaceId?: string | undefined; readonly limit: number }) {
    this.#answer()
    return this.#open()
      .filter(({ run }) => run.claim_state !== 'queued' && (workspaceId ?? run.workspace_id) === run.workspace_id)
      .sort((a, b) => b.changedAt - a.changedAt)
      .slice(0, limit)
      .map((run) => this.#shown(run))
  }

  async openRuns(): Promise<readonly string[]> {
    this.#answer()
    return this.#open().map(({ runId }) => runId)
  }

  async correct(corrections: readonly Correction[]): Promise<number> {
    this.#answer()
    let corrected = 0
    for (const { runId, run, activeNodes, outboxId } of corrections) {
      if ((this.runs.get(runId)?.outboxId ?? null) !== outboxId) continue
      corrected++
      if (run === null) this.runs.delete(runId)
      else this.#keep(runId, { runId, run, activeNodes, progress: {}, outboxId: outboxId ?? '0' }, Date.now())
    }
    return corrected
  }

  async prune(olderThanMs: number): Promise<number> {
    this.#answer()
    const old = [...this.runs.values()].filter(
      ({ run, changedAt }) => ENDS.has(run.status) && changedAt < Date.now() - olderThanMs,
    )
    for (const { runId } of old) this.runs.delete(runId)
    return old.length
  }

  #open() {
    return [...this.runs.values()].filter(({ run }) => !ENDS.has(run.status))
  }

  #learn({ id, runId, kind, payload, createdAt }: MirrorChange): boolean {
    const had = runId === null ? undefined : this.runs.get(runId)
    if (runId === null || (had !== undefined && BigInt(had.outboxId) >= BigInt(id))) return false
    const changedAt = Date.parse(createdAt)
    if (kind === 'run') {
      const run = payload as unknown as MirroredRun
      const activeNodes = had === undefined || ENDS.has(run.status) ? {} : had.activeNodes
      this.#keep(runId, { activeNodes, progress: {}, runId, run, outboxId: id }, changedAt)
      return true
    }
    if (kind !== 'event' || had === undefined) return false
    const node = payload.node_id as string | null
    if (payload.event_type !== 'node_start') this.#progress.delete(`${runId} ${node}`)
    const activeNodes = ENDS.has(had.run.status) ? {} : activeAfter(had.activeNodes, payload)
    this.#keep(runId, { ...had, activeNodes, outboxId: id }, changedAt)
    return true
  }

  #shown(run: LiveRun): LiveRun {
    const said = Object.keys(run.activeNodes).map((node) => [node, this.#progress.get(`${run.runId} ${node}`)])
    return { ...run, progress: Object.fromEntries(said.filter(([, value]) => value !== undefined)) }
  }

  #keep(runId: string, run: LiveRun, changedAt: number): void {
    this.runs.set(runId, { ...run, changedAt })
  }

  #answer(): void {
    if (this.isDown) throw new Error('The warm tier is down.')
  }
}

/** Whoever held the run before does not any more. */
const CLEARING: ReadonlySet<unknown> = new Set(['runner_lost', 'run_released', 'run_retried'])

function activeAfter(active: Readonly<Record<string, ActiveNode>>, event: MirrorChange['payload']) {
  const { event_type: type, node_id: node, payload_json: payload, created_at: since } = event
  if (node === null) return CLEARING.has(type) ? {} : active
  const others = Object.entries(active).filter(([name]) => name !== node)
  if (type !== 'node_start') return Object.fromEntries(others)
  const started = { attempt: (payload as { attempt?: number } | null)?.attempt ?? null, since: since as string }
  return Object.fromEntries([...others, [node as string, started]])
}

import type { TriggerStore } from '../store/trigger-store.ts'
import type { Firing, FiringKey, FiringOutcome, FiringStart, FiringStatus } from '../triggers/firing.ts'
import { type SqlFunctions, scalar } from './sql-functions.ts'

interface FiringRow {
  readonly workspace_id: string
  readonly kind: Firing['kind']
  readonly trigger_name: string
  readonly occurrence: string
  readonly start: FiringStart
  readonly status: FiringStatus
  readonly run_id: string | null
}

/** The store in Postgres: each method is one call of one SQL function. */
export class PostgresTriggerStore implements TriggerStore {
  readonly #call: SqlFunctions

  constructor(call: SqlFunctions) {
    this.#call = call
  }

  async openSchedules(workspaceId: string, names: readonly string[]) {
    const rows = (await this.#call('open_schedules', { workspace_id: workspaceId, trigger_names: names })) as {
      trigger_name: string
      fired_until: string
      clock: string
    }[]
    return {
      now: new Date(rows[0]!.clock),
      firedUntil: new Map(rows.map((row) => [row.trigger_name, new Date(row.fired_until)])),
    }
  }

  async advanceSchedule(workspaceId: string, name: string, until: Date): Promise<void> {
    await this.#call('advance_schedule', {
      workspace_id: workspaceId,
      trigger_name: name,
      fired_until: until.toISOString(),
    })
  }

  async recordInstant(key: FiringKey, start: FiringStart, status: 'recorded' | 'skipped'): Promise<boolean> {
    const { workspaceId, name, occurrence } = key
    const answer = await this.#call('record_instant', {
      ...{ workspace_id: workspaceId, trigger_name: name, scheduled_at: occurrence, occurrence, start, status },
    })
    return scalar<boolean>(answer)
  }

  async recordDelivery(key: FiringKey, start: FiringStart) {
    const { workspaceId, name, occurrence } = key
    const rows = await this.#call('record_delivery', {
      ...{ workspace_id: workspaceId, trigger_name: name, delivery_id: occurrence, start },
    })
    const [row] = rows as { firing: FiringRow; created: boolean }[]
    return { firing: firingOf(row!.firing), created: row!.created }
  }

  async settleFiring(key: FiringKey, outcome: FiringOutcome): Promise<void> {
    await this.#call('settle_firing', {
      workspace_id: key.workspaceId,
      kind: key.kind,
      trigger_name: key.name,
      occurrence: key.occurrence,
      run_id: outcome.status === 'started' ? outcome.runId : null,
      refused_code: outcome.status === 'refused' ? outcome.code : null,
    })
  }

  async lastFiring(workspaceId: string, name: string): Promise<Firing | undefined> {
    const rows = await this.#call('last_firing', { workspace_id: workspaceId, trigger_name: name })
    return (rows as FiringRow[]).map(firingOf)[0]
  }

  async unstartedFirings(workspaceId: string, olderThanMs: number, limit: number): Promise<readonly Firing[]> {
    const rows = await this.#call('unstarted_firings', {
      ...{ workspace_id: workspaceId, older_than_ms: olderThanMs, max_rows: limit },
    })
    return (rows as FiringRow[]).map(firingOf)
  }

  async pruneFirings(olderThanMs: number): Promise<number> {
    const answer = await this.#call('prune_firings', { older_than_ms: olderThanMs })
    return Number(scalar(answer))
  }

  async close(): Promise<void> {}
}

function firingOf(row: FiringRow): Firing {
  const { workspace_id, kind, trigger_name, occurrence, start, status, run_id } = row
  return { workspaceId: workspace_id, kind, name: trigger_name, occurrence, start, status, runId: run_id }
}

import Database from 'libsql'
import { SQLITE_BUSY_TIMEOUT_MS } from '../numbers.ts'
import type { TriggerStore } from '../store/trigger-store.ts'
import type { Firing, FiringKey, FiringOutcome, FiringStart, FiringStatus } from '../triggers/firing.ts'

/** As the tables of band 75_server; instants are milliseconds since 1970. */
const TABLES = `
create table if not exists trigger_schedules (
  workspace_id text not null,
  trigger_name text not null,
  fired_until integer not null,
  primary key (workspace_id, trigger_name)
) strict;
create table if not exists trigger_firings (
  workspace_id text not null,
  kind text not null check (kind in ('schedule', 'webhook')),
  trigger_name text not null,
  occurrence text not null,
  scheduled_at integer,
  start text not null,
  status text not null check (status in ('recorded', 'started', 'skipped', 'refused')),
  run_id text,
  refused_code text,
  recorded_at integer not null,
  settled_at integer,
  primary key (workspace_id, kind, trigger_name, occurrence)
) strict;
create index if not exists trigger_firings_unstarted_idx on trigger_firings (workspace_id, recorded_at) where status = 'recorded';
`

interface FiringRow {
  readonly workspace_id: string
  readonly kind: Firing['kind']
  readonly trigger_name: string
  readonly occurrence: string
  readonly start: string
  readonly status: FiringStatus
  readonly run_id: string | null
}

/** The store in the state file of a local installation, beside the runs. Its clock is that of the machine. */
export class SqliteTriggerStore implements TriggerStore {
  readonly #database: Database.Database
  readonly #now: () => number

  constructor(path: string, now: () => number = Date.now) {
    this.#database = new Database(path, { timeout: SQLITE_BUSY_TIMEOUT_MS })
    this.#database.exec(TABLES)
    this.#now = now
  }

  async openSchedules(workspaceId: string, names: readonly string[]) {
    const now = this.#now()
    const insert = this.#database.prepare(
      'insert into trigger_schedules (workspace_id, trigger_name, fired_until) values (?, ?, ?) on conflict do nothing',
    )
    for (const name of names) insert.run(workspaceId, name, now)
    const rows = this.#database
      .prepare('select trigger_name, fired_until from trigger_schedules where workspace_id = ?')
      .all(workspaceId) as { trigger_name: string; fired_until: number }[]
    return { now: new Date(now), firedUntil: new Map(rows.map((row) => [row.trigger_name, new Date(row.fired_until)])) }
  }

  async advanceSchedule(workspaceId: string, name: string, until: Date): Promise<void> {
    this.#database
      .prepare(
        'update trigger_schedules set fired_until = max(fired_until, ?) where workspace_id = ? and trigger_name = ?',
      )
      .run(until.getTime(), workspaceId, name)
  }

  async recordInstant(key: FiringKey, start: FiringStart, status: 'recorded' | 'skipped'): Promise<boolean> {
    const { workspaceId, name, occurrence } = key
    const scheduledAt = Date.parse(occurrence)
    const now = this.#now()
    const { changes } = this.#database
      .prepare(
        `insert into trigger_firings
           (workspace_id, kind, trigger_name, occurrence, scheduled_at, start, status, recorded_at, settled_at)
         select ?, 'schedule', ?, ?, ?, ?, ?, ?, ?
         where exists (
           select 1 from trigger_schedules where workspace_id = ? and trigger_name = ? and fired_until < ?)
         on conflict do nothing`,
      )
      .run(
        ...[workspaceId, name, occurrence, scheduledAt, JSON.stringify(start), status, now],
        ...[status === 'skipped' ? now : null, workspaceId, name, scheduledAt],
      )
    return changes > 0
  }

  async recordDelivery(key: FiringKey, start: FiringStart) {
    const { workspaceId, name, occurrence } = key
    const { changes } = this.#database
      .prepare(
        `insert into trigger_firings (workspace_id, kind, trigger_name, occurrence, start, status, recorded_at)
         values (?, 'webhook', ?, ?, ?, 'recorded', ?)
         on conflict do update set
           start = excluded.start, status = 'recorded', recorded_at = excluded.recorded_at, settled_at = null, refused_code = null
         where trigger_firings.status = 'refused'`,
      )
      .run(workspaceId, name, occurrence, JSON.stringify(start), this.#now())
    const row = this.#database
      .prepare(
        `select * from trigger_firings
         where workspace_id = ? and kind = 'webhook' and trigger_name = ? and occurrence = ?`,
      )
      .get(workspaceId, name, occurrence) as FiringRow
    return { firing: firingOf(row), created: changes > 0 }
  }

  async settleFiring({ workspaceId, kind, name, occurrence }: FiringKey, outcome: FiringOutcome): Promise<void> {
    this.#database
      .prepare(
        `update trigger_firings set status = ?, run_id = ?, refused_code = ?, settled_at = ?
         where workspace_id = ? and kind = ? and trigger_name = ? and occurrence = ? and status = 'recorded'`,
      )
      .run(
        outcome.status,
        outcome.status === 'started' ? outcome.runId : null,
        outcome.status === 'refused' ? outcome.code : null,
        ...[this.#now(), workspaceId, kind, name, occurrence],
      )
  }

  async lastFiring(workspaceId: string, name: string): Promise<Firing | undefined> {
    const row = this.#database
      .prepare(
        `select * from trigger_firings
         where workspace_id = ? and kind = 'schedule' and trigger_name = ? and status in ('recorded', 'started')
         order by scheduled_at desc limit 1`,
      )
      .get(workspaceId, name) as FiringRow | undefined
    return row && firingOf(row)
  }

  async unstartedFirings(workspaceId: string, olderThanMs: number, limit: number): Promise<readonly Firing[]> {
    const rows = this.#database
      .prepare(
        `select * from trigger_firings where workspace_id = ? and status = 'recorded' and recorded_at <= ?
         order by recorded_at, scheduled_at limit ?`,
      )
      .all(workspaceId, this.#now() - olderThanMs, limit) as FiringRow[]
    return rows.map(firingOf)
  }

  async pruneFirings(olderThanMs: number): Promise<number> {
    return this.#database.prepare('delete from trigger_firings where settled_at < ?').run(this.#now() - olderThanMs)
      .changes
  }

  async close(): Promise<void> {
    this.#database.close()
  }
}

function firingOf(row: FiringRow): Firing {
  const { workspace_id, kind, trigger_name, occurrence, start, status, run_id } = row
  return {
    ...{ workspaceId: workspace_id, kind, name: trigger_name, occurrence, status, runId: run_id },
    start: JSON.parse(start) as FiringStart,
  }
}

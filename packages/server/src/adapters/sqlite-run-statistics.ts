import Database from 'libsql'
import { SQLITE_READ_TIMEOUT_MS } from '../numbers.ts'
import type { LivenessProblem, RunFigures, RunStatistics } from '../overview/run-statistics.ts'
import { type Scope, workspaceOf } from '../workspace.ts'

const OPEN = `
select coalesce(sum(status = 'queued'), 0) as queued, coalesce(sum(status = 'running'), 0) as running, coalesce(sum(status = 'paused'), 0) as paused
from workflow_runs
where status in ('queued', 'running', 'paused') and (:workspaceId is null or workspace_id = :workspaceId)`

const MINUTES = `
select at, sum(started) as started, sum(failed) as failed
from (
  select created_at / 60000 * 60000 as at, 1 as started, 0 as failed from workflow_runs
  where created_at >= :since and (:workspaceId is null or workspace_id = :workspaceId)
  union all
  select completed_at / 60000 * 60000, 0, 1 from workflow_runs
  where status = 'error' and completed_at >= :since and (:workspaceId is null or workspace_id = :workspaceId)
)
group by at`

const WAITS = `
select count(*) as waits from workflow_waits w
where w.status = 'open'
  and (:workspaceId is null or exists (select 1 from workflow_runs r where r.id = w.run_id and r.workspace_id = :workspaceId))`

/** As starflow.audit_liveness() in Postgres. */
const PROBLEMS = `
select id, template_id, claim_state from workflow_runs r
where r.status in ('queued', 'running', 'paused') and (:workspaceId is null or r.workspace_id = :workspaceId)
  and ((r.claim_state = 'paused' and not exists (select 1 from workflow_waits w where w.run_id = r.id and w.status = 'open'))
    or (r.claim_state in ('claimed', 'running') and coalesce(r.lease_until, r.claim_state_at + 30000) < :now - 60000))
order by r.id limit :limit`

/** Figures of the state file of a local installation, where all runs are on runners. */
export class SqliteRunStatistics implements RunStatistics {
  readonly #database: Database.Database
  readonly #now: () => number

  constructor(path: string, now: () => number = Date.now) {
    this.#database = new Database(path, { timeout: SQLITE_READ_TIMEOUT_MS })
    this.#now = now
  }

  async read(scope: Scope): Promise<RunFigures> {
    const workspaceId = workspaceOf(scope) ?? null
    const now = this.#now()
    const since = Math.floor(now / 60_000) * 60_000 - 59 * 60_000
    const rows = this.#all<{ at: number; started: number; failed: number }>(MINUTES, { workspaceId, since })
    const counted = new Map(rows.map((row) => [row.at, row]))
    const minutes = Array.from({ length: 60 }, (_, index) => since + index * 60_000)
    return {
      asOf: new Date(now).toISOString(),
      open: this.#all<RunFigures['open']>(OPEN, { workspaceId })[0]!,
      minutes: minutes.map((at) => ({
        at: new Date(at).toISOString(),
        started: counted.get(at)?.started ?? 0,
        failed: counted.get(at)?.failed ?? 0,
      })),
      openWaits: this.#all<{ waits: number }>(WAITS, { workspaceId })[0]!.waits,
    }
  }

  async auditLiveness(scope: Scope, limit: number): Promise<readonly LivenessProblem[]> {
    const rows = this.#all<{ id: string; template_id: string; claim_state: string }>(PROBLEMS, {
      ...{ workspaceId: workspaceOf(scope) ?? null, now: this.#now(), limit },
    })
    return rows.map(({ id, template_id, claim_state }) => ({
      ...{ placement: 'runner', kind: 'run', flow: template_id, runId: id, step: null, task: null },
      reason:
        claim_state === 'paused'
          ? 'paused, but none of its waits is open'
          : 'held by nobody, and not found by a sweep: does a runner or a server run?',
    }))
  }

  close(): void {
    this.#database.close()
  }

  #all<TRow>(sql: string, parameters: Readonly<Record<string, string | number | null>>): TRow[] {
    return this.#database.prepare(sql).all(parameters) as TRow[]
  }
}

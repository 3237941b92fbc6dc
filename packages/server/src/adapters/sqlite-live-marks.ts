import Database from 'libsql'
import type { LiveMarks, LiveMarksSource } from '../live/live-marks.ts'
import { SQLITE_READ_TIMEOUT_MS } from '../numbers.ts'

const MARKS = `
select (select coalesce(max(id), 0) from workflow_run_events)
         || '.' || (select count(*) from workflow_runs where claim_state = 'queued') || '.' || (select max(created_at) from workflow_runs) as runs,
       (select count(*) || '.' || coalesce(max(opened_at), 0) from workflow_waits where status = 'open') as waits,
       (select count(*) from workflow_definitions) as flows,
       (select count(*) || '.' || coalesce(sum(live_until > :now), 0) || '.' || coalesce(max(started_at), 0) from workflow_runners)
         || '.' || (select count(*) from workflow_runs where lease_until is not null) as runners`

/** Marks of the state file of a local installation, which has no step queues. */
export class SqliteLiveMarks implements LiveMarksSource {
  readonly #database: Database.Database

  constructor(path: string) {
    this.#database = new Database(path, { timeout: SQLITE_READ_TIMEOUT_MS })
  }

  async read(runIds: readonly string[]): Promise<LiveMarks> {
    const { runs, waits, flows, runners } = this.#database.prepare(MARKS).get({ now: Date.now() }) as Record<
      'runs' | 'waits' | 'flows' | 'runners',
      string
    >
    const ofRun = this.#database.prepare(
      `select (select status || '.' || claim_state from workflow_runs where id = :runId)
         || '.' || (select coalesce(max(id), 0) from workflow_run_events where run_id = :runId) as mark`,
    )
    const marks = runIds.map((runId) => [runId, String((ofRun.get({ runId }) as { mark: unknown }).mark)] as const)
    return {
      kinds: { runs, waits, flows: String(flows), runners, queues: '', workers: '', functions: '' },
      runs: new Map(marks),
    }
  }

  close(): void {
    this.#database.close()
  }
}

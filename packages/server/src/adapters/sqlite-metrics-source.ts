import type { QueueingStateAdapter } from '@starflow/engine'
import Database from 'libsql'
import type { MetricSample, MetricsSource } from '../metrics/metrics-source.ts'
import { MAX_COUNTED_UNSERVED_RUNS, SQLITE_BUSY_TIMEOUT_MS } from '../numbers.ts'

/** Counted by the file itself, whoever writes it. */
const COUNTERS = `
create table if not exists counted (
  name text not null primary key,
  value integer not null
) strict;
insert into counted (name, value)
values ('started', 0), ('success', 0), ('error', 0), ('cancelled', 0), ('claims', 0), ('losses', 0)
on conflict do nothing;
create trigger if not exists count_starts after insert on workflow_runs begin
  update counted set value = value + 1 where name = 'started';
end;
create trigger if not exists count_ends after update of status on workflow_runs
when new.status <> old.status and new.status in ('success', 'error', 'cancelled') begin
  update counted set value = value + 1 where name = new.status;
end;
create trigger if not exists count_claims after update of claim_state on workflow_runs
when new.claim_state = 'claimed' and old.claim_state = 'queued' begin
  update counted set value = value + 1 where name = 'claims';
end;
create trigger if not exists count_losses after insert on workflow_run_events when new.event_type = 'runner_lost' begin
  update counted set value = value + 1 where name = 'losses';
end;
`

/** As starflow._run_metrics() in Postgres. */
const GAUGES = `
select 'starflow_runs_open' as metric, json_object('placement', 'runner', 'status', s.status) as labels, s.runs as value
from (
  select 'queued' as status, (select count(*) from workflow_runs where claim_state = 'queued' and status = 'queued') as runs
  union all select 'running', (select count(*) from workflow_runs where lease_until is not null and status = 'running')
  union all select 'paused', (select count(distinct run_id) from workflow_waits where status = 'open')
) s
union all
select 'starflow_open_waits', json_object('placement', 'runner'), count(*) from workflow_waits where status = 'open'
union all
select 'starflow_runner_queue_depth', json_object('pool', coalesce(runner_pool, '')), count(*)
from workflow_runs where claim_state = 'queued' and available_at <= :now group by runner_pool
union all
select 'starflow_runner_queue_oldest_age_seconds', json_object('pool', coalesce(runner_pool, '')),
       max(0, :now - min(max(queued_at, available_at))) / 1000.0
from workflow_runs where claim_state = 'queued' and available_at <= :now group by runner_pool
union all
select 'starflow_live_runners', json_object('pool', coalesce(runner_pool, '')), count(*)
from workflow_runners where live_until > :now group by runner_pool
union all
select 'starflow_leases_held', '{}', count(*) from workflow_runs where lease_until is not null
union all
select 'starflow_leases_overdue', '{}', count(*) from workflow_runs where lease_until < :now
union all
select 'starflow_alerts_open', json_object('rule', rule), count(*)
from alert_problems where opened_at is not null and resolved_at is null group by rule
union all
select case name when 'started' then 'starflow_runs_started_total' when 'claims' then 'starflow_run_claims_total'
                 when 'losses' then 'starflow_leases_lost_total' else 'starflow_runs_ended_total' end,
       case name when 'started' then '{"placement":"runner"}' when 'claims' then '{}' when 'losses' then '{}'
                 else json_object('placement', 'runner', 'status', name) end,
       value
from counted
`

interface SampleRow {
  readonly metric: MetricSample['metric']
  readonly labels: string
  readonly value: number
}

/** The figures of the state file of a local installation. It has no queues of steps. */
export class SqliteMetricsSource implements MetricsSource {
  readonly #database: Database.Database
  readonly #adapter: Pick<QueueingStateAdapter, 'listUnservedRuns'>

  constructor(path: string, adapter: Pick<QueueingStateAdapter, 'listUnservedRuns'>) {
    this.#database = new Database(path, { timeout: SQLITE_BUSY_TIMEOUT_MS })
    this.#database.exec(COUNTERS)
    this.#adapter = adapter
  }

  async read(): Promise<readonly MetricSample[]> {
    const rows = this.#database.prepare(GAUGES).all({ now: Date.now() }) as SampleRow[]
    const unserved = new Map<string, number>()
    for (const { runnerPool } of await this.#adapter.listUnservedRuns({ limit: MAX_COUNTED_UNSERVED_RUNS })) {
      const pool = runnerPool ?? ''
      unserved.set(pool, (unserved.get(pool) ?? 0) + 1)
    }
    return [
      ...rows.map((row) => ({ ...row, labels: JSON.parse(row.labels) as Record<string, string> })),
      ...[...unserved].map(([pool, value]) => ({
        ...{ metric: 'starflow_runner_queue_unserved' as const, labels: { pool }, value },
      })),
    ]
  }

  close(): void {
    this.#database.close()
  }
}

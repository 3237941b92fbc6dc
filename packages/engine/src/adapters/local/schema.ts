/** Marks a file as ours: "SFLW". A database of another application is never touched. */
export const APPLICATION_ID = 0x53464c57

/**
 * What brings a state file from one version to the next; `user_version` says how many of them it has had. A released one is
 * never edited. Tables and columns are those of the schema `starflow` in Postgres; instants are milliseconds since 1970.
 */
export const MIGRATIONS: readonly string[] = [
  `
create table workflow_definitions (
  id text not null primary key,
  flow_slug text not null,
  shape_hash text not null,
  shape text not null,
  created_at integer not null,
  unique (flow_slug, shape_hash)
) strict;

create table workflow_runs (
  id text not null primary key,
  template_id text not null,
  workspace_id text not null,
  env text not null,
  status text not null check (status in ('queued', 'running', 'paused', 'success', 'error', 'cancelled')),
  input text not null,
  output text,
  error text,
  checkpoint_json text,
  paused_nodes text,
  phase text,
  definition_id text references workflow_definitions (id),
  idempotency_key text,
  claim_state text not null check (
    claim_state in ('queued', 'claimed', 'running', 'paused', 'complete', 'failed', 'abandoned')),
  claim_state_at integer not null,
  runner_pool text,
  leased_by text,
  lease_until integer,
  last_heartbeat integer,
  claim_attempts integer not null default 0,
  created_at integer not null,
  queued_at integer,
  available_at integer,
  started_at integer,
  completed_at integer,
  cancelled_at integer,
  duration_ms integer,
  -- Which claim states a status goes with, as in Postgres.
  check (case status
    when 'queued' then claim_state in ('queued', 'claimed')
    when 'running' then claim_state = 'running'
    when 'paused' then claim_state in ('queued', 'claimed', 'running', 'paused')
    when 'error' then claim_state in ('failed', 'abandoned')
    else claim_state = 'complete' end),
  check ((leased_by is null) = (lease_until is null)),
  check (leased_by is null or claim_state not in ('queued', 'paused'))
) strict;
create index idx_workflow_runs_claim_pool on workflow_runs (claim_state, runner_pool, queued_at) where claim_state = 'queued';
create index idx_workflow_runs_lease_until on workflow_runs (lease_until) where lease_until is not null;
create index idx_workflow_runs_leaseless on workflow_runs (claim_state_at) where lease_until is null and claim_state = 'running';
create index idx_workflow_runs_workspace_started on workflow_runs (workspace_id, env, started_at desc);
create index idx_workflow_runs_created on workflow_runs (created_at desc, id desc);
create unique index idx_workflow_runs_idempotency_key on workflow_runs (workspace_id, env, idempotency_key)
  where idempotency_key is not null;

-- autoincrement: an id is never used twice, so that "after this id" misses nothing.
create table workflow_run_events (
  id integer primary key autoincrement,
  run_id text not null references workflow_runs (id) on delete cascade,
  event_type text not null,
  node_id text,
  payload_json text,
  created_at integer not null
) strict;
create index idx_workflow_run_events_run on workflow_run_events (run_id, id);
create index idx_workflow_run_events_node on workflow_run_events (run_id, node_id, id);
create unique index idx_workflow_run_events_one_output on workflow_run_events (run_id, node_id)
  where event_type = 'node_complete';

create table workflow_waits (
  run_id text not null references workflow_runs (id) on delete cascade,
  node_id text not null,
  status text not null check (status in ('early', 'open', 'resumed', 'timed_out')),
  payload_json text,
  opened_at integer,
  due_at integer,
  ended_at integer,
  created_at integer not null,
  primary key (run_id, node_id)
) strict;
create index idx_workflow_waits_due on workflow_waits (due_at) where status = 'open' and due_at is not null;
create index idx_workflow_waits_open on workflow_waits (opened_at) where status = 'open';

create table workflow_session_vars (
  session_id text not null,
  key text not null,
  value_json text not null,
  run_id text references workflow_runs (id) on delete set null,
  keep_until integer,
  updated_at integer not null,
  primary key (session_id, key)
) strict;
create index idx_workflow_session_vars_run on workflow_session_vars (run_id);
create index idx_workflow_session_vars_keep_until on workflow_session_vars (keep_until) where keep_until is not null;

create table workflow_runners (
  runner_id text not null primary key,
  runner_pool text,
  capacity integer not null,
  definition_ids text not null,
  live_until integer not null,
  last_heartbeat integer not null,
  started_at integer not null
) strict;
`,
  'alter table workflow_runs add column traceparent text',
  `alter table workflow_runners add column is_accepting integer not null default 1;
   alter table workflow_runners add column refused_flows text not null default '{}';
   alter table workflow_runners add column workspace_id text;`,
]

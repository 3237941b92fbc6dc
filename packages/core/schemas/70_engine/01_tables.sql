create schema if not exists starflow;
comment on schema starflow is 'Whole runs that are executed by runners. Written through its functions only.';

create table starflow.workflow_definitions (
  id uuid not null default pgflow.new_run_id(),
  flow_slug text not null,
  shape_hash text not null,
  shape jsonb not null,
  created_at timestamptz not null default now(),
  constraint workflow_definitions_pkey primary key (id),
  constraint workflow_definitions_flow_slug_shape_hash_key unique (flow_slug, shape_hash),
  constraint workflow_definitions_flow_slug_is_a_slug check (pgflow.is_valid_slug(flow_slug)),
  constraint workflow_definitions_shape_is_an_object check (jsonb_typeof(shape) = 'object')
);
comment on table starflow.workflow_definitions is 'What runs are tied to: one row per flow slug and shape. A runner claims runs of the definitions that its code has.';
comment on column starflow.workflow_definitions.shape_hash is 'SHA-256 of the structure, in hex: what runners compare.';
comment on column starflow.workflow_definitions.shape is 'Steps, order, types, dependencies, conditions and skip modes.';

-- A heartbeat changes lease_until, which has an index, so it is no HOT update: the free part of a page keeps it near.
create table starflow.workflow_runs (
  id uuid not null default pgflow.new_run_id(),
  template_id text,
  workspace_id text not null default 'celestial',
  env text not null default 'prod',
  status text not null default 'running',
  input jsonb not null default 'null',
  output jsonb,
  error text,
  checkpoint_json jsonb,
  paused_nodes text[],
  phase text,
  definition_id uuid,
  idempotency_key text,
  claim_state text not null default 'running',
  claim_state_at timestamptz not null default now(),
  runner_pool text,
  leased_by text,
  lease_until timestamptz,
  last_heartbeat timestamptz,
  claim_attempts integer not null default 0,
  created_at timestamptz not null default now(),
  queued_at timestamptz,
  available_at timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  cancelled_at timestamptz,
  duration_ms integer,
  traceparent text,
  constraint workflow_runs_pkey primary key (id),
  constraint workflow_runs_definition_id_fkey foreign key (definition_id) references starflow.workflow_definitions (id),
  constraint workflow_runs_status_is_known check (status in ('queued', 'running', 'paused', 'success', 'error', 'cancelled')),
  constraint workflow_runs_claim_state_is_known check (
    claim_state in ('queued', 'claimed', 'running', 'paused', 'complete', 'failed', 'abandoned')),
  -- Which claim states a status goes with: the table of README.md.
  constraint workflow_runs_claim_state_fits_status check (case status
    when 'queued' then claim_state in ('queued', 'claimed')
    when 'running' then claim_state = 'running'
    when 'paused' then claim_state in ('queued', 'claimed', 'running', 'paused')
    when 'error' then claim_state in ('failed', 'abandoned')
    else claim_state = 'complete' end),
  constraint workflow_runs_lease_is_whole check ((leased_by is null) = (lease_until is null)),
  constraint workflow_runs_nobody_holds_what_waits check (leased_by is null or claim_state not in ('queued', 'paused')),
  constraint workflow_runs_claimed_is_held check (claim_state <> 'claimed' or leased_by is not null),
  constraint workflow_runs_queued_since_when check (claim_state <> 'queued' or (queued_at is not null and available_at is not null)),
  constraint workflow_runs_paused_nodes_only_while_paused check ((status = 'paused') = (paused_nodes is not null)),
  constraint workflow_runs_checkpoint_only_while_paused check (checkpoint_json is null or status = 'paused'),
  constraint workflow_runs_output_only_of_success check (output is null or status = 'success'),
  constraint workflow_runs_error_only_of_error check ((status = 'error') = (error is not null)),
  constraint workflow_runs_cancelled_at_matches_status check ((status = 'cancelled') = (cancelled_at is not null)),
  constraint workflow_runs_completed_at_matches_status check ((status in ('success', 'error')) = (completed_at is not null)),
  constraint workflow_runs_claim_attempts_check check (claim_attempts >= 0),
  constraint workflow_runs_duration_ms_check check (duration_ms >= 0)
) with (fillfactor = 70);
-- The claim: the oldest queued runs of a pool. Only queued runs are in it, however many have ended.
create index idx_workflow_runs_claim_pool on starflow.workflow_runs (claim_state, runner_pool, queued_at) where claim_state = 'queued';
-- The sweep: leases that are over, and what is executed without any.
create index idx_workflow_runs_lease_until on starflow.workflow_runs (lease_until) where lease_until is not null;
create index idx_workflow_runs_leaseless on starflow.workflow_runs (claim_state_at) where lease_until is null and claim_state = 'running';
-- Lists of runs: by start for dashboards, by creation (which queued runs have too) for pages.
create index idx_workflow_runs_workspace_started on starflow.workflow_runs (workspace_id, env, started_at desc);
create index idx_workflow_runs_workspace_created on starflow.workflow_runs (workspace_id, created_at desc, id desc);
create index idx_workflow_runs_created on starflow.workflow_runs (created_at desc, id desc);
-- Runs that failed are few, and looked for among all the others.
create index idx_workflow_runs_unsuccessful on starflow.workflow_runs (created_at desc, id desc) where status in ('error', 'cancelled');
create index idx_workflow_runs_failed on starflow.workflow_runs (completed_at) where status = 'error';
create index idx_workflow_runs_open on starflow.workflow_runs (created_at desc, id desc) where status in ('queued', 'running', 'paused');
create index idx_workflow_runs_definition on starflow.workflow_runs (definition_id);
create unique index idx_workflow_runs_idempotency_key on starflow.workflow_runs (workspace_id, env, idempotency_key)
  where idempotency_key is not null;
comment on table starflow.workflow_runs is 'One row per run. status is for whoever watches it, claim_state for runners; (leased_by, claim_attempts) is the fencing token of all that a runner writes.';
comment on column starflow.workflow_runs.template_id is 'The flow slug.';
comment on column starflow.workflow_runs.workspace_id is 'Whose run it is.';
comment on column starflow.workflow_runs.checkpoint_json is 'What is kept of the run while it is paused. Its resume and its end clear it.';
comment on column starflow.workflow_runs.paused_nodes is 'The nodes that a paused run waits for, as its runner said when it paused.';
comment on column starflow.workflow_runs.phase is 'The last phase that was recorded.';
comment on column starflow.workflow_runs.idempotency_key is 'The same key again in this workspace and env gives this run.';
comment on column starflow.workflow_runs.claim_state_at is 'Since when claim_state is what it is.';
comment on column starflow.workflow_runs.runner_pool is 'Only runners of this pool claim it; null: any runner.';
comment on column starflow.workflow_runs.leased_by is 'The runner that holds the run.';
comment on column starflow.workflow_runs.lease_until is 'When the lease is over unless it is refreshed. The sweep takes the run away then, nothing else does.';
comment on column starflow.workflow_runs.last_heartbeat is 'When the lease was refreshed last. For people.';
comment on column starflow.workflow_runs.claim_attempts is 'Grows with every claim and never shrinks.';
comment on column starflow.workflow_runs.queued_at is 'When it was queued last: claims go by it.';
comment on column starflow.workflow_runs.available_at is 'Not claimed before this.';
comment on column starflow.workflow_runs.traceparent is 'The span that started it (W3C Trace Context); null without tracing.';
comment on column starflow.workflow_runs.started_at is 'When a runner executed it first.';
comment on column starflow.workflow_runs.completed_at is 'When it succeeded or failed.';

-- A run in a list: without what may be long.
create type starflow.listed_run as (
  id uuid, template_id text, workspace_id text, env text, status text, claim_state text, error text, definition_id uuid, runner_pool text,
  leased_by text, lease_until timestamptz, last_heartbeat timestamptz, claim_attempts integer, created_at timestamptz, queued_at timestamptz,
  available_at timestamptz, started_at timestamptz, completed_at timestamptz, cancelled_at timestamptz, duration_ms integer, is_found boolean
);

create table starflow.workflow_run_events (
  id bigserial not null,
  run_id uuid not null,
  event_type text not null,
  node_id text,
  payload_json jsonb,
  created_at timestamptz not null default now(),
  constraint workflow_run_events_pkey primary key (id),
  constraint workflow_run_events_run_id_fkey foreign key (run_id) references starflow.workflow_runs (id) on delete cascade,
  constraint workflow_run_events_event_type_is_known check (event_type in (
    'node_start', 'node_complete', 'node_error', 'node_retry', 'node_skip', 'run_started', 'run_paused', 'run_resumed',
    'run_completed', 'run_failed', 'run_cancelled', 'run_retried', 'run_released', 'phase', 'variable', 'runner_lost')),
  constraint workflow_run_events_node_id_matches_type check ((node_id is not null) = (event_type like 'node\_%'))
);
create index idx_workflow_run_events_run on starflow.workflow_run_events (run_id, id);
create index idx_workflow_run_events_node on starflow.workflow_run_events (run_id, node_id, id) where node_id is not null;
create index idx_workflow_run_events_variable on starflow.workflow_run_events (run_id, (payload_json ->> 'key'), id) where event_type = 'variable';
create index idx_workflow_run_events_lost on starflow.workflow_run_events (created_at) where event_type = 'runner_lost';
create unique index idx_workflow_run_events_one_output on starflow.workflow_run_events (run_id, node_id) where event_type = 'node_complete';
comment on table starflow.workflow_run_events is 'What happened to runs, append-only. What a run has come to is read from its events in the order of their ids, which within a run is the order in which they became visible.';
comment on column starflow.workflow_run_events.node_id is 'The step slug, or slug[3] for an element of a map.';
comment on column starflow.workflow_run_events.payload_json is 'Inputs, outputs, errors and what else the type has.';

create table starflow.workflow_waits (
  run_id uuid not null,
  node_id text not null,
  status text not null,
  payload_json jsonb,
  opened_at timestamptz,
  due_at timestamptz,
  ended_at timestamptz,
  created_at timestamptz not null default now(),
  constraint workflow_waits_pkey primary key (run_id, node_id),
  constraint workflow_waits_run_id_fkey foreign key (run_id) references starflow.workflow_runs (id) on delete cascade,
  constraint workflow_waits_status_is_known check (status in ('early', 'open', 'resumed', 'timed_out')),
  constraint workflow_waits_payload_matches_status check ((status in ('early', 'resumed')) = (payload_json is not null)),
  constraint workflow_waits_opened_at_matches_status check ((status = 'early') = (opened_at is null)),
  constraint workflow_waits_ended_at_matches_status check ((status in ('resumed', 'timed_out')) = (ended_at is not null))
);
create index idx_workflow_waits_due on starflow.workflow_waits (due_at) where status = 'open' and due_at is not null;
create index idx_workflow_waits_open on starflow.workflow_waits (opened_at) where status = 'open';
comment on table starflow.workflow_waits is 'Durable waits: a payload is stored once per wait, may arrive before the wait opens, and comes too late by the clock of the database.';
comment on column starflow.workflow_waits.status is 'early: resumed before it was opened. resumed and timed_out are ends.';
comment on column starflow.workflow_waits.due_at is 'When it times out; null: never.';

create table starflow.workflow_session_vars (
  session_id text not null,
  key text not null,
  value_json jsonb not null,
  run_id uuid,
  keep_until timestamptz,
  updated_at timestamptz not null default now(),
  constraint workflow_session_vars_pkey primary key (session_id, key),
  constraint workflow_session_vars_run_id_fkey foreign key (run_id) references starflow.workflow_runs (id) on delete set null
);
create index idx_workflow_session_vars_run on starflow.workflow_session_vars (run_id);
create index idx_workflow_session_vars_keep_until on starflow.workflow_session_vars (keep_until) where keep_until is not null;
comment on table starflow.workflow_session_vars is 'Values that steps share, within a run or across runs.';
comment on column starflow.workflow_session_vars.run_id is 'The run that wrote it last: with its end the variable goes, unless keep_until is set.';
comment on column starflow.workflow_session_vars.keep_until is 'Until when it outlives its run.';

create table starflow.workflow_runners (
  runner_id text not null,
  runner_pool text,
  capacity integer not null,
  definition_ids uuid[] not null default '{}',
  live_until timestamptz not null,
  is_accepting boolean not null default true,
  refused_flows jsonb not null default '{}',
  workspace_id text,
  last_heartbeat timestamptz not null,
  started_at timestamptz not null default now(),
  constraint workflow_runners_pkey primary key (runner_id),
  constraint workflow_runners_capacity_check check (capacity >= 0)
);
comment on table starflow.workflow_runners is 'Runners as they announce themselves with each heartbeat. Nothing is decided by it: it tells which queued runs nobody serves, and why.';
comment on column starflow.workflow_runners.definition_ids is 'The definitions that its code has.';
comment on column starflow.workflow_runners.is_accepting is 'False while it drains, or its claims are not answered: it serves no further run.';
comment on column starflow.workflow_runners.refused_flows is 'Flows of its code that it cannot execute, by slug, and why.';
comment on column starflow.workflow_runners.workspace_id is 'The workspace under which it reports (MESH_WORKSPACE); null: it said none.';
comment on column starflow.workflow_runners.live_until is 'Until when it counts as live without another heartbeat.';

create table starflow.worker_jobs (
  id uuid not null default pgflow.new_run_id(),
  run_id uuid not null,
  node_id text not null,
  kind text not null,
  payload jsonb not null default 'null',
  status text not null default 'queued',
  leased_by text,
  lease_until timestamptz,
  attempt integer not null default 0,
  idempotency_key text,
  result jsonb,
  error text,
  is_permanent boolean not null default false,
  lost_leases integer not null default 0,
  created_at timestamptz not null default now(),
  completed_at timestamptz,
  constraint worker_jobs_pkey primary key (id),
  constraint worker_jobs_run_id_fkey foreign key (run_id) references starflow.workflow_runs (id) on delete cascade,
  constraint worker_jobs_run_id_idempotency_key_key unique (run_id, idempotency_key),
  constraint worker_jobs_status_is_known check (status in ('queued', 'leased', 'completed', 'failed', 'cancelled')),
  constraint worker_jobs_lease_matches_status check (
    (status = 'leased') = (leased_by is not null) and (leased_by is null) = (lease_until is null)),
  constraint worker_jobs_result_only_of_completed check (result is null or status = 'completed'),
  constraint worker_jobs_error_only_of_failed check (error is null or status in ('queued', 'leased', 'failed')),
  constraint worker_jobs_completed_at_matches_status check ((status in ('completed', 'failed', 'cancelled')) = (completed_at is not null)),
  constraint worker_jobs_attempt_check check (attempt >= 0)
);
create index idx_worker_jobs_queued on starflow.worker_jobs (kind, created_at) where status = 'queued';
create index idx_worker_jobs_lease_until on starflow.worker_jobs (lease_until) where lease_until is not null;
comment on table starflow.worker_jobs is 'Steps that an external worker serves, in any language.';
comment on column starflow.worker_jobs.kind is 'What a worker asks for.';
comment on column starflow.worker_jobs.attempt is 'Grows with every lease: with leased_by the fencing token of the worker''s report.';
comment on column starflow.worker_jobs.idempotency_key is 'The same key again within the run gives the same job.';
comment on column starflow.worker_jobs.error is 'Of the last attempt that failed.';
comment on column starflow.worker_jobs.is_permanent is 'The worker said that no further attempt can help.';
comment on column starflow.worker_jobs.lost_leases is 'How many workers have taken it and were not heard of again, since it was queued by its step.';

-- As pgflow.counted_*.
create sequence starflow.counted_runs_started;
create sequence starflow.counted_runs_succeeded;
create sequence starflow.counted_runs_failed;
create sequence starflow.counted_runs_cancelled;
create sequence starflow.counted_claims;
create sequence starflow.counted_losses;

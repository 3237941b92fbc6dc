-- What the server keeps beside runs: which database this is, who may ask, and whose the runs in queue placement are.

create table starflow.database_identity (
  is_only boolean not null default true,
  database_id uuid not null default gen_random_uuid(),
  constraint database_identity_pkey primary key (is_only),
  constraint database_identity_is_one_row check (is_only)
);
insert into starflow.database_identity default values;
comment on table starflow.database_identity is 'One row: an id that processes show, so that two on different databases are noticed.';

create table starflow.api_tokens (
  token_id text not null,
  workspace_id text not null,
  name text not null,
  secret_hash text not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  constraint api_tokens_pkey primary key (token_id),
  constraint api_tokens_workspace_is_named check (workspace_id <> ''),
  constraint api_tokens_secret_hash_is_sha256 check (secret_hash ~ '^[0-9a-f]{64}$')
);
create index api_tokens_workspace_idx on starflow.api_tokens (workspace_id, created_at);
comment on table starflow.api_tokens is 'Tokens of workspaces. Of the secret only its SHA-256 is kept: it is random and long, so that a slow hash would add nothing.';

create table starflow.ended_sessions (
  session_id text not null,
  kept_until timestamptz not null,
  constraint ended_sessions_pkey primary key (session_id)
);
comment on table starflow.ended_sessions is 'Sign-ins that were signed out of, for as long as their cookie could be good.';

-- Beside pgflow.runs and not on it: runs that are started in SQL have no workspace, and a hot table gets no column that few
-- of its rows use. The key stands here because pgflow.runs knows one per flow, and two workspaces may choose the same.
create table starflow.queue_runs (
  run_id uuid not null,
  workspace_id text not null,
  env text not null,
  flow_slug text not null,
  idempotency_key text,
  -- As in pgflow.runs, where it does not change: so that a workspace's runs are listed in the order in which all are.
  started_at timestamptz not null,
  constraint queue_runs_pkey primary key (run_id),
  -- Deferred: the row is written first, so that of two starts with one key the second waits and then finds it.
  constraint queue_runs_run_id_fkey foreign key (run_id) references pgflow.runs (run_id) on delete cascade deferrable initially deferred
);
create index queue_runs_workspace_idx on starflow.queue_runs (workspace_id, started_at, run_id);
create unique index queue_runs_idempotency_key on starflow.queue_runs (workspace_id, env, idempotency_key) where idempotency_key is not null;
comment on table starflow.queue_runs is 'Whose a run in queue placement is. The server writes it with the start; a run without a row was started in SQL, and only an operator who asks for every workspace sees it.';

-- Until which instant a schedule has fired. Written when it fires, not on each look.
create table starflow.trigger_schedules (
  workspace_id text not null,
  trigger_name text not null,
  fired_until timestamptz not null,
  constraint trigger_schedules_pkey primary key (workspace_id, trigger_name)
);
comment on table starflow.trigger_schedules is 'Schedules of the server, and until which instant each has fired: what lies behind it is due, or was missed.';

-- A firing is there once, however many processes see that it is due. It is written before its run is started and says all of
-- that start, so that any process can do it when the one that wrote it is gone.
create table starflow.trigger_firings (
  workspace_id text not null,
  kind text not null,
  trigger_name text not null,
  occurrence text not null,
  scheduled_at timestamptz,
  start jsonb not null,
  status text not null,
  run_id uuid,
  refused_code text,
  recorded_at timestamptz not null,
  settled_at timestamptz,
  constraint trigger_firings_pkey primary key (workspace_id, kind, trigger_name, occurrence),
  constraint trigger_firings_kind_is_known check (kind in ('schedule', 'webhook')),
  constraint trigger_firings_status_is_known check (status in ('recorded', 'started', 'skipped', 'refused')),
  constraint trigger_firings_schedule_has_an_instant check ((kind = 'schedule') = (scheduled_at is not null)),
  constraint trigger_firings_started_has_a_run check ((status = 'started') = (run_id is not null)),
  constraint trigger_firings_recorded_is_open check ((status = 'recorded') = (settled_at is null))
);
create unique index trigger_firings_scheduled_at_key on starflow.trigger_firings (workspace_id, trigger_name, scheduled_at) where kind = 'schedule';
create index trigger_firings_unstarted_idx on starflow.trigger_firings (workspace_id, recorded_at) where status = 'recorded';
create index trigger_firings_settled_idx on starflow.trigger_firings (settled_at) where settled_at is not null;
comment on table starflow.trigger_firings is 'What schedules and webhooks have fired: one row per scheduled instant or delivery, with the run that it started.';

-- A problem is there once, however many edges see it. It is opened when its grace is over, and stays after it was resolved.
create table starflow.alert_problems (
  problem_id uuid not null default pgflow.new_run_id(),
  rule text not null,
  subject text not null,
  facts jsonb not null,
  seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  opened_at timestamptz,
  resolved_at timestamptz,
  constraint alert_problems_pkey primary key (problem_id),
  constraint alert_problems_resolved_was_opened check (resolved_at is null or opened_at is not null)
);
create unique index alert_problems_unresolved_key on starflow.alert_problems (rule, subject) where resolved_at is null;
create index alert_problems_resolved_idx on starflow.alert_problems (resolved_at) where resolved_at is not null;
comment on table starflow.alert_problems is 'What alerts have found wrong: one row from when it was first seen until it is resolved. opened_at null: it may still pass within its grace.';

-- What a webhook is told at once, and how far that has come. Its id is that of the request, so that a receiver knows a repetition.
create table starflow.alert_messages (
  message_id uuid not null default pgflow.new_run_id(),
  webhook text not null,
  problems jsonb not null,
  created_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  settled_at timestamptz,
  outcome text,
  constraint alert_messages_pkey primary key (message_id),
  constraint alert_messages_outcome_is_known check (outcome in ('sent', 'given_up')),
  constraint alert_messages_settled_has_an_outcome check ((settled_at is null) = (outcome is null)),
  constraint alert_messages_open_has_a_next_attempt check ((settled_at is null) = (next_attempt_at is not null))
);
create index alert_messages_open_idx on starflow.alert_messages (next_attempt_at) where settled_at is null;
create index alert_messages_webhook_idx on starflow.alert_messages (webhook, created_at);
comment on table starflow.alert_messages is 'Messages of alerts, each with the problems it tells of as they were when it was written.';

-- Each change is told to each webhook once: that is its key.
create table starflow.alert_notices (
  problem_id uuid not null,
  change text not null,
  webhook text not null,
  message_id uuid,
  constraint alert_notices_pkey primary key (problem_id, change, webhook),
  constraint alert_notices_change_is_known check (change in ('opened', 'resolved')),
  constraint alert_notices_problem_id_fkey foreign key (problem_id) references starflow.alert_problems (problem_id) on delete cascade
);
create index alert_notices_untold_idx on starflow.alert_notices (webhook) where message_id is null;
comment on table starflow.alert_notices is 'Who is to be told of which change of a problem, and in which message it was told.';
-- One row per queue and minute: what a dashboard draws. Counted by sample_queues, which pg_cron calls.
create table starflow.queue_samples (
  queue_name text not null,
  sampled_at timestamptz not null,
  depth integer not null,
  in_flight integer not null,
  oldest_seconds real,
  live_workers integer not null,
  archived_count bigint not null,
  done integer,
  done_seconds real,
  constraint queue_samples_pkey primary key (queue_name, sampled_at),
  constraint queue_samples_done_has_a_duration check ((done is null) = (done_seconds is null))
);
-- For the deletion of what is a week old: rows lie in the order of their time.
create index queue_samples_sampled_at_idx on starflow.queue_samples using brin (sampled_at) with (pages_per_range = 16);
comment on table starflow.queue_samples is 'The queues once a minute, for a week: how full they were, who served them, and how much was done since the sample before.';
comment on column starflow.queue_samples.depth is 'Messages, counted up to 10 000.';
comment on column starflow.queue_samples.in_flight is 'Messages that a worker has taken and not settled, among the oldest 10 000.';
comment on column starflow.queue_samples.archived_count is 'Messages that were ever archived, as Postgres counts them.';
comment on column starflow.queue_samples.done is 'Messages archived since the sample before, done_seconds ago; null of the first one, and after the counters of Postgres were reset.';

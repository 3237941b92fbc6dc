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

-- Beside pgflow.runs and not on it: runs that are started in SQL have no workspace, and a hot table gets no column that few
-- of its rows use. The key stands here because pgflow.runs knows one per flow, and two workspaces may choose the same.
create table starflow.queue_runs (
  run_id uuid not null,
  workspace_id text not null,
  env text not null,
  flow_slug text not null,
  idempotency_key text,
  constraint queue_runs_pkey primary key (run_id),
  -- Deferred: the row is written first, so that of two starts with one key the second waits and then finds it.
  constraint queue_runs_run_id_fkey foreign key (run_id) references pgflow.runs (run_id) on delete cascade deferrable initially deferred
);
-- Run ids grow with time, so this is the order of a list.
create index queue_runs_workspace_idx on starflow.queue_runs (workspace_id, run_id desc);
create unique index queue_runs_idempotency_key on starflow.queue_runs (workspace_id, env, idempotency_key) where idempotency_key is not null;
comment on table starflow.queue_runs is 'Whose a run in queue placement is. The server writes it with the start; a run without a row was started in SQL, and only an operator who asks for every workspace sees it.';

create table starflow.mirror_outbox (
  id bigserial not null,
  run_id uuid,
  kind text not null,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  applied_at timestamptz,
  refused_because text,
  constraint mirror_outbox_pkey primary key (id),
  constraint mirror_outbox_refused_is_applied check (refused_because is null or applied_at is not null),
  constraint mirror_outbox_kind_is_known check (kind in ('run', 'event', 'session_var', 'step_progress'))
);
create index idx_mirror_outbox_unapplied on starflow.mirror_outbox (id) where applied_at is null;
create index idx_mirror_outbox_unapplied_of_run on starflow.mirror_outbox (run_id, id) where applied_at is null;
create index idx_mirror_outbox_applied on starflow.mirror_outbox (applied_at) where applied_at is not null;
create index idx_mirror_outbox_refused on starflow.mirror_outbox (id) where refused_because is not null;
comment on table starflow.mirror_outbox is 'What the warm tier has to learn, written in the transaction of the write itself while the setting mirror is on. Rows that are not applied are its lag.';
comment on column starflow.mirror_outbox.run_id is 'The run that wrote it. Rows of one run are applied in the order of their ids.';
comment on column starflow.mirror_outbox.refused_because is 'Why the warm tier refused the row. It was set aside then, so that others go on, and counts as applied.';
comment on column starflow.mirror_outbox.payload is 'All that the warm tier needs: rows without inputs, outputs and checkpoints, which are read from the cold tier.';

-- The warm tier in this database. Unlogged: a write costs no WAL, a standby does not have it, and a crash empties it; then the
-- sweep of the mirror fills it again. Nothing may be decided by it.
create unlogged table starflow.warm_runs (
  run_id uuid not null,
  workspace_id text not null,
  is_open boolean not null,
  run jsonb not null,
  active_nodes jsonb not null default '{}',
  outbox_id bigint not null,
  changed_at timestamptz not null,
  constraint warm_runs_pkey primary key (run_id)
) with (fillfactor = 50);
create index idx_warm_runs_open on starflow.warm_runs (workspace_id, changed_at desc) where is_open;
create index idx_warm_runs_ended on starflow.warm_runs (changed_at) where not is_open;
comment on table starflow.warm_runs is 'The live overlay of runs: what they are doing now, a second or two late. A hint, never the truth.';
comment on column starflow.warm_runs.run is 'The run as the outbox tells it.';
comment on column starflow.warm_runs.active_nodes is 'The nodes that have begun and not ended: { node: { attempt, since } }.';
comment on column starflow.warm_runs.outbox_id is 'The last row of the outbox that it knows: earlier ones no longer count.';

-- Apart from warm_runs: a step may say something before the outbox has told of its run, and says it often.
create unlogged table starflow.warm_step_progress (
  run_id uuid not null,
  node_id text not null,
  value jsonb not null,
  reported_at timestamptz not null,
  constraint warm_step_progress_pkey primary key (run_id, node_id)
) with (fillfactor = 50);
comment on table starflow.warm_step_progress is 'What steps last said of themselves. It is nowhere else, and shown while the node is active.';

create unlogged table starflow.warm_watermark (
  is_only boolean not null default true,
  as_of timestamptz not null,
  constraint warm_watermark_pkey primary key (is_only),
  constraint warm_watermark_is_one_row check (is_only)
);
comment on table starflow.warm_watermark is 'Up to when the warm tier knows everything that was written.';

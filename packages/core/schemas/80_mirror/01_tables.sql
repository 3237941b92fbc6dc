create table starflow.mirror_outbox (
  id bigserial not null,
  run_id uuid,
  kind text not null,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  applied_at timestamptz,
  constraint mirror_outbox_pkey primary key (id),
  constraint mirror_outbox_kind_is_known check (kind in ('run', 'event', 'session_var', 'step_progress'))
);
create index idx_mirror_outbox_pending on starflow.mirror_outbox (run_id, id) where applied_at is null;
create index idx_mirror_outbox_applied on starflow.mirror_outbox (applied_at) where applied_at is not null;
comment on table starflow.mirror_outbox is 'What the warm tier has to learn, written in the transaction of the write itself while the setting mirror is on. Rows that are not applied are its lag.';
comment on column starflow.mirror_outbox.run_id is 'The run that wrote it. Rows of one run are applied in the order of their ids.';
comment on column starflow.mirror_outbox.payload is 'All that the warm tier needs: rows without inputs, outputs and checkpoints, which are read from the cold tier.';

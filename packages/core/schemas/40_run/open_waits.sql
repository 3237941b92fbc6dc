create view pgflow.open_waits as
  select r.flow_slug, w.run_id, w.step_slug, w.opened_at, w.due_at
  from pgflow.waits w join pgflow.runs r on r.run_id = w.run_id
  where w.opened_at is not null;
comment on view pgflow.open_waits is 'The durable waits that stand open, and when each times out (null: never).';

create function starflow.open_wait(
  run_id uuid, node_id text, timeout_ms bigint default null, runner_id text default null, claim_attempts integer default null)
returns setof starflow.workflow_waits
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._lock_open_run(open_wait.run_id, open_wait.runner_id, open_wait.claim_attempts);
  insert into starflow.workflow_waits as w (run_id, node_id, status, opened_at, due_at, created_at)
  values (open_wait.run_id, open_wait.node_id, 'open', pgflow.clock(), pgflow.clock() + starflow._milliseconds(timeout_ms), pgflow.clock())
  on conflict on constraint workflow_waits_pkey do update set status = 'resumed', opened_at = pgflow.clock(), ended_at = pgflow.clock()
  where w.status = 'early';
  return query select w.* from starflow.workflow_waits w where w.run_id = open_wait.run_id and w.node_id = open_wait.node_id;
end $$;
comment on function starflow.open_wait(uuid, text, bigint, text, integer) is
  'From now on the timeout of this wait runs. A payload that arrived early is returned with it, and the wait is over. Again: no effect.';

create function starflow.on_run_resumed(run_id uuid, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_open_run(on_run_resumed.run_id, on_run_resumed.runner_id, on_run_resumed.claim_attempts);
begin
  if v_run.status <> 'paused' then
    return;
  end if;
  update starflow.workflow_runs r set
    status = 'running', checkpoint_json = null, paused_nodes = null, claim_state = 'running',
    claim_state_at = case r.claim_state when 'running' then r.claim_state_at else pgflow.clock() end
  where r.id = on_run_resumed.run_id;
  perform starflow._append_event(on_run_resumed.run_id, 'run_resumed', null, null);
end $$;
comment on function starflow.on_run_resumed(uuid, text, integer) is 'A paused run goes on: status running, checkpoint cleared, run_resumed.';

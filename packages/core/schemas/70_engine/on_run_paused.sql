create function starflow.on_run_paused(
  run_id uuid, node_ids text[], runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_open_run(on_run_paused.run_id, on_run_paused.runner_id, on_run_paused.claim_attempts);
begin
  if v_run.status = 'paused' and v_run.paused_nodes = node_ids then
    return;
  end if;
  update starflow.workflow_runs r set
    status = 'paused', paused_nodes = node_ids, claim_state = 'running',
    claim_state_at = case r.claim_state when 'running' then r.claim_state_at else pgflow.clock() end
  where r.id = on_run_paused.run_id;
  perform starflow._append_event(on_run_paused.run_id, 'run_paused', null, jsonb_build_object('nodes', node_ids));
end $$;
comment on function starflow.on_run_paused(uuid, text[], text, integer) is
  'The run does nothing but wait for these nodes: status paused, run_paused { nodes }. Its runner holds it until clear_lease.';

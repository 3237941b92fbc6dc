create function starflow.on_node_error(
  run_id uuid, node_id text, attempt integer, error jsonb, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(on_node_error.run_id, on_node_error.runner_id, on_node_error.claim_attempts);
  perform starflow._append_node_event(on_node_error.run_id, 'node_error', on_node_error.node_id,
    jsonb_build_object('attempt', attempt, 'error', on_node_error.error));
end $$;
comment on function starflow.on_node_error(uuid, text, integer, jsonb, text, integer) is
  'A node failed for good, past its retries: node_error { attempt, error }.';

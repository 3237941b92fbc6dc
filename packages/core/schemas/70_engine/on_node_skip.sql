create function starflow.on_node_skip(
  run_id uuid, node_id text, reason text, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(on_node_skip.run_id, on_node_skip.runner_id, on_node_skip.claim_attempts);
  perform starflow._append_node_event(on_node_skip.run_id, 'node_skip', on_node_skip.node_id, jsonb_build_object('reason', reason));
end $$;
comment on function starflow.on_node_skip(uuid, text, text, text, integer) is 'A node is skipped: node_skip { reason }.';

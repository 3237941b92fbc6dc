create function starflow.on_node_start(
  run_id uuid, node_id text, attempt integer, input jsonb default null, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(on_node_start.run_id, on_node_start.runner_id, on_node_start.claim_attempts);
  perform starflow._append_node_event(on_node_start.run_id, 'node_start', on_node_start.node_id,
    jsonb_strip_nulls(jsonb_build_object('attempt', attempt)) || case when input is null then '{}' else jsonb_build_object('input', input) end);
end $$;
comment on function starflow.on_node_start(uuid, text, integer, jsonb, text, integer) is 'An attempt of a node begins: node_start { attempt, input? }.';

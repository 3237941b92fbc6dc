create function starflow.on_node_complete(
  run_id uuid, node_id text, output jsonb, attempt integer default null, duration_ms bigint default null, runner_id text default null,
  claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._lock_open_run(on_node_complete.run_id, on_node_complete.runner_id, on_node_complete.claim_attempts);
  insert into starflow.workflow_run_events (run_id, event_type, node_id, payload_json, created_at)
  values (on_node_complete.run_id, 'node_complete', on_node_complete.node_id,
          jsonb_build_object('output', coalesce(output, 'null'))
            || jsonb_strip_nulls(jsonb_build_object('attempt', attempt, 'duration_ms', on_node_complete.duration_ms)),
          pgflow.clock())
  on conflict (run_id, node_id) where event_type = 'node_complete' do nothing;
end $$;
comment on function starflow.on_node_complete(uuid, text, jsonb, integer, bigint, text, integer) is
  'A node has its one accepted output: node_complete { output, attempt?, duration_ms? }. Another one for the same node has no effect.';

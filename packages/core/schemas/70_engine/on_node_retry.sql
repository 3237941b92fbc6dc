create function starflow.on_node_retry(
  run_id uuid, node_id text, attempt integer, error jsonb, delay_ms bigint, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(on_node_retry.run_id, on_node_retry.runner_id, on_node_retry.claim_attempts);
  perform starflow._append_node_event(on_node_retry.run_id, 'node_retry', on_node_retry.node_id, jsonb_build_object(
    'attempt', attempt, 'error', on_node_retry.error, 'delay_ms', delay_ms,
    'due_at', starflow._iso(pgflow.clock() + starflow._milliseconds(delay_ms))));
end $$;
comment on function starflow.on_node_retry(uuid, text, integer, jsonb, bigint, text, integer) is
  'An attempt failed and another one follows: node_retry { attempt, error, delay_ms, due_at }, due by the clock of the database.';

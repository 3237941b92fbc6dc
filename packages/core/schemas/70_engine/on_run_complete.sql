create function starflow.on_run_complete(
  run_id uuid, output jsonb, duration_ms bigint, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(on_run_complete.run_id);
begin
  perform starflow._check_claim(v_run, on_run_complete.runner_id, on_run_complete.claim_attempts);
  if v_run.status = 'success' then
    return;
  end if;
  perform starflow._refuse_end(v_run);
  perform starflow._end_run(v_run, 'success', 'complete', coalesce(output, 'null'), null, on_run_complete.duration_ms);
  perform starflow._append_event(on_run_complete.run_id, 'run_completed', null, jsonb_build_object('duration_ms', on_run_complete.duration_ms));
end $$;
comment on function starflow.on_run_complete(uuid, jsonb, bigint, text, integer) is
  'The run succeeded: status success, run_completed { duration_ms }. Its session variables without keep_until go.';

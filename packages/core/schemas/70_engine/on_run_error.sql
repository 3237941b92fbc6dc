create function starflow.on_run_error(run_id uuid, error jsonb, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(on_run_error.run_id);
begin
  perform starflow._check_claim(v_run, on_run_error.runner_id, on_run_error.claim_attempts);
  if v_run.status = 'error' then
    return;
  end if;
  perform starflow._refuse_end(v_run);
  perform starflow._end_run(v_run, 'error', 'failed', null, coalesce(on_run_error.error ->> 'message', ''));
  perform starflow._append_event(on_run_error.run_id, 'run_failed', null, jsonb_build_object('error', on_run_error.error));
end $$;
comment on function starflow.on_run_error(uuid, jsonb, text, integer) is
  'The run failed: status error with the message, run_failed { error }. Its session variables without keep_until go.';

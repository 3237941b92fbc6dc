-- How the journal comes to a run: locked, by its claim, and not ended.
create function starflow._lock_open_run(p_run_id uuid, p_runner_id text, p_claim_attempts integer)
returns starflow.workflow_runs
language plpgsql
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(p_run_id);
begin
  perform starflow._check_claim(v_run, p_runner_id, p_claim_attempts);
  perform starflow._refuse_end(v_run);
  return v_run;
end $$;

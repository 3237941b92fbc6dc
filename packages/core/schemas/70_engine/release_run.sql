create function starflow.release_run(
  run_id uuid, delay_ms bigint default 0, reason text default null, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(release_run.run_id);
begin
  if starflow._is_spent(v_run, release_run.runner_id, release_run.claim_attempts)
    or (v_run.claim_state = 'queued' and release_run.runner_id is null)
  then
    return;
  end if;
  perform starflow._check_claim(v_run, release_run.runner_id, release_run.claim_attempts);
  perform starflow._refuse_end(v_run);
  -- Whatever else it waits for: a wait that is over already lets the run go on at once.
  perform starflow._queue_run(v_run, case when v_run.status = 'paused' and starflow._has_wait_over(v_run) then 0 else delay_ms end);
  perform starflow._append_event(release_run.run_id, 'run_released', null, jsonb_build_object('reason', release_run.reason));
end $$;
comment on function starflow.release_run(uuid, bigint, text, text, integer) is
  'Gives the run back to the queue, to be claimed after the delay; a paused one whose wait is over already at once. The claim is spent. Again: no effect.';

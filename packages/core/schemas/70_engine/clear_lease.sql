create function starflow.clear_lease(run_id uuid, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(clear_lease.run_id);
begin
  if starflow._is_spent(v_run, clear_lease.runner_id, clear_lease.claim_attempts) then
    return;
  end if;
  perform starflow._check_claim(v_run, clear_lease.runner_id, clear_lease.claim_attempts);
  -- A wait that ended while the run was still held has queued nothing: it is done here, or nobody would. What was claimed and
  -- never started goes back as well.
  if v_run.claim_state = 'claimed' or (v_run.claim_state = 'running' and starflow._has_wait_over(v_run)) then
    perform starflow._queue_run(v_run);
    return;
  end if;
  update starflow.workflow_runs r set
    leased_by = null, lease_until = null,
    claim_state = case when r.status = 'paused' and r.claim_state = 'running' then 'paused' else r.claim_state end,
    claim_state_at = case when r.status = 'paused' and r.claim_state = 'running' then pgflow.clock() else r.claim_state_at end
  where r.id = clear_lease.run_id;
end $$;
comment on function starflow.clear_lease(uuid, text, integer) is
  'Nobody holds the run any longer. A paused one waits (claim_state paused), or is queued if its wait is over already. Again: no effect.';

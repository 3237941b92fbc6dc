-- A wait of this run has just ended: queues the run if it does nothing but wait, also for a delay beside the wait. One that a runner
-- still holds is queued by clear_lease or release_run, one that executes something else reads the wait when it comes to it. The caller
-- holds the row.
create function starflow._wait_is_over(p_run starflow.workflow_runs)
returns void
language plpgsql
as $$
begin
  if p_run.claim_state = 'paused' or (p_run.claim_state = 'queued' and p_run.available_at > pgflow.clock()) then
    perform starflow._queue_run(p_run);
  end if;
end $$;

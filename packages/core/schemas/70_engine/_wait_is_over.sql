-- A wait of this run has just ended: queues the run if it does nothing but wait. One that a runner still holds is queued by
-- clear_lease, one that executes something else reads the wait when it comes to it. The caller holds the row.
create function starflow._wait_is_over(p_run starflow.workflow_runs)
returns void
language plpgsql
as $$
begin
  if p_run.claim_state = 'paused' then
    perform starflow._queue_run(p_run);
  end if;
end $$;

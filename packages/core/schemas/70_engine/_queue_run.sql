-- Puts a run into the queue, behind a delay. Nobody holds it then; its status becomes queued unless it is paused. The caller
-- holds the row.
create function starflow._queue_run(p_run starflow.workflow_runs, p_delay_ms bigint default 0)
returns void
language plpgsql
as $$
begin
  update starflow.workflow_runs r set
    status = case r.status when 'paused' then 'paused' else 'queued' end,
    claim_state = 'queued', claim_state_at = pgflow.clock(), leased_by = null, lease_until = null,
    queued_at = pgflow.clock(), available_at = pgflow.clock() + starflow._milliseconds(p_delay_ms)
  where r.id = p_run.id;
  if p_delay_ms <= 0 then
    perform starflow._wake_runners(p_run.runner_pool);
  end if;
end $$;

create function starflow.retry_run(run_id uuid)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(retry_run.run_id);
begin
  if v_run.status not in ('error', 'cancelled') then
    return false;
  end if;
  -- A payload that came in stays: somebody has given it.
  delete from starflow.workflow_waits w where w.run_id = retry_run.run_id and w.status in ('open', 'timed_out');
  update starflow.workflow_runs r set
    status = 'queued', claim_state = 'queued', claim_state_at = pgflow.clock(), leased_by = null, lease_until = null,
    queued_at = pgflow.clock(), available_at = pgflow.clock(), error = null, completed_at = null, cancelled_at = null, duration_ms = null
  where r.id = retry_run.run_id;
  perform starflow._append_event(retry_run.run_id, 'run_retried', null, null);
  perform starflow._wake_runners(v_run.runner_pool);
  return true;
end $$;
comment on function starflow.retry_run(uuid) is
  'Queues a failed or cancelled run again: completed nodes keep their output, the others start afresh. False for any other run.';

create function starflow.cancel_run(run_id uuid, reason text default null)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(cancel_run.run_id);
begin
  if starflow._has_ended(v_run.status) then
    return false;
  end if;
  perform starflow._end_run(v_run, 'cancelled', 'complete');
  perform starflow._append_event(cancel_run.run_id, 'run_cancelled', null, jsonb_build_object('reason', cancel_run.reason));
  return true;
end $$;
comment on function starflow.cancel_run(uuid, text) is
  'Ends the run as cancelled; a runner that executes it is refused at its next write or heartbeat. False when the run had ended already.';

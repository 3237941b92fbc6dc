create function starflow.record_phase_if_changed(
  run_id uuid, phase text, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_open_run(
    record_phase_if_changed.run_id, record_phase_if_changed.runner_id, record_phase_if_changed.claim_attempts);
begin
  if v_run.phase is not distinct from record_phase_if_changed.phase then
    return;
  end if;
  update starflow.workflow_runs r set phase = record_phase_if_changed.phase where r.id = record_phase_if_changed.run_id;
  perform starflow._append_event(record_phase_if_changed.run_id, 'phase', null, jsonb_build_object('phase', record_phase_if_changed.phase));
end $$;
comment on function starflow.record_phase_if_changed(uuid, text, text, integer) is 'phase { phase }, unless it is the run''s last phase already.';

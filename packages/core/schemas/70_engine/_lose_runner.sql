-- A run has lost its runner. It goes back to the queue as long as it did so fewer than max_losses times since it got on:
-- since its last completed node, or since somebody retried it. claim_attempts is no such count: it only grows. The caller
-- holds the row.
create function starflow._lose_runner(p_run starflow.workflow_runs, p_max_losses integer, p_reason text)
returns text
language plpgsql
as $$
declare
  v_progress_id bigint;
  v_losses integer;
begin
  select e.id into v_progress_id from starflow.workflow_run_events e
  where e.run_id = p_run.id and e.event_type in ('node_complete', 'run_retried')
  order by e.run_id desc, e.id desc limit 1;
  select count(*) into v_losses from starflow.workflow_run_events e
  where e.run_id = p_run.id and e.id > coalesce(v_progress_id, 0) and e.event_type = 'runner_lost';

  perform nextval('starflow.counted_losses');
  perform starflow._append_event(p_run.id, 'runner_lost', null, jsonb_build_object('runner_id', p_run.leased_by, 'reason', p_reason));
  if v_losses < p_max_losses then
    perform starflow._queue_run(p_run);
    return 'requeued';
  end if;
  perform starflow._end_run(p_run, 'error', 'abandoned', null, p_reason);
  perform starflow._append_event(p_run.id, 'run_failed', null, jsonb_build_object('error', jsonb_build_object(
    'name', 'RunnerLostError', 'message', p_reason)));
  return 'abandoned';
end $$;

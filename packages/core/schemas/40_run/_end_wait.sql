-- What a payload does to its wait, and the answer: every case of resume_wait. The caller holds the run, so that a resume, the
-- timeout, a cancellation and another resume come one after the other, and the first of them counts.
create function pgflow._end_wait(p_run pgflow.runs, p_step_slug text, p_payload jsonb)
returns text
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_state pgflow.step_states;
  v_wait pgflow.waits;
  v_task pgflow.step_tasks;
  v_result record;
begin
  select * into v_state from pgflow.step_states s where s.run_id = p_run.run_id and s.step_slug = p_step_slug;
  select * into v_task from pgflow.step_tasks t where t.run_id = p_run.run_id and t.step_slug = p_step_slug;
  if v_state.status = 'completed' then
    return 'already_resumed';
  elsif v_task.status = 'failed' or v_state.skip_reason = 'handler_failed' then
    return 'timed_out';
  elsif v_state.status = 'skipped' then
    return 'skipped';
  elsif p_run.status <> 'started' then
    return 'run_ended';
  end if;

  select * into v_wait from pgflow.waits w where w.run_id = p_run.run_id and w.step_slug = p_step_slug;
  if v_wait.resumed_at is not null then
    return 'already_resumed';
  elsif v_state.status = 'created' then
    insert into pgflow.waits (run_id, step_slug, resumed_at, payload) values (p_run.run_id, p_step_slug, v_now, p_payload);
    return 'early';
  elsif v_wait.due_at <= v_now then
    -- The deadline is the clock's, not that of the recovery pass which has not come by yet.
    perform pgflow._expire_waits(array[p_run.run_id]);
    return 'timed_out';
  end if;

  update pgflow.step_tasks t set status = 'completed', completed_at = greatest(v_now, t.queued_at), output = p_payload, error_message = null
  where t.run_id = p_run.run_id and t.step_slug = p_step_slug and t.status = 'waiting'
  returning * into v_task;
  delete from pgflow.waits w where w.run_id = p_run.run_id and w.step_slug = p_step_slug;
  v_result := pgflow._complete_steps(array[row(v_task.flow_slug, v_task.run_id, v_task.step_slug, v_task.task_index, v_task.queue_name,
                                               v_task.message_id, v_task.output, null)::pgflow._ended_task]);
  perform pgflow._advance(v_result.completed_steps, null, v_result.failed_steps, p_not_before => p_run.start_at, p_may_cascade => false);
  return 'accepted';
end $$;

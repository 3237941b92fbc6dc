-- The payload of a step's event, by the status it has now.
create function pgflow._step_event(p_state pgflow._state)
returns jsonb
language plpgsql stable
as $$
declare
  v_base jsonb := jsonb_build_object('event_type', 'step:' || p_state.status, 'run_id', p_state.run_id,
                                     'step_slug', p_state.step_slug, 'status', p_state.status);
begin
  return v_base || case p_state.status
    when 'started' then jsonb_build_object('started_at', p_state.started_at, 'remaining_tasks', p_state.remaining_tasks,
                                           'remaining_deps', p_state.remaining_deps)
    when 'completed' then jsonb_build_object('output', p_state.output, 'completed_at', p_state.completed_at)
      || case when p_state.initial_tasks = 0 then jsonb_build_object(
           'started_at', p_state.started_at, 'remaining_tasks', p_state.remaining_tasks, 'remaining_deps', p_state.remaining_deps) else '{}' end
    when 'failed' then jsonb_build_object('error_message', p_state.error_message, 'failed_at', p_state.failed_at)
    else jsonb_build_object('skip_reason', p_state.skip_reason, 'skipped_at', p_state.skipped_at)
      || case when p_state.skip_reason = 'handler_failed' then jsonb_build_object('error_message', p_state.error_message)
              else jsonb_build_object('flow_slug', p_state.flow_slug) end
  end;
end $$;

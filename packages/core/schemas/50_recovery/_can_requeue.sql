-- Whether a stalled task may run again: it has attempts left and was not put back too often.
create function pgflow._can_requeue(p_task pgflow.step_tasks)
returns boolean
language plpgsql stable
as $$
begin
  return p_task.requeued_count < pgflow._setting('max_requeues')::integer
    and p_task.attempts_count - p_task.attempts_forgiven < (
      select coalesce(s.opt_max_attempts, f.opt_max_attempts)
      from pgflow.steps s join pgflow.flows f on f.flow_slug = s.flow_slug
      where s.flow_slug = p_task.flow_slug and s.step_slug = p_task.step_slug);
end $$;

-- The attempts of some tasks of a step, those that have ended otherwise than completed and the last one of each task, in order. A task that
-- was queued again has its last attempt among the former.
create function starflow._attempts_of_tasks(p_run_id uuid, p_step_slug text, p_first_index integer, p_last_index integer)
returns setof starflow.queue_run_attempt
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select a.task_index, a.attempt, a.reason, a.worker_id, w.function_name, a.started_at, a.ended_at, a.error_name, a.error_message, left(a.error_stack, 16384)
  from pgflow.task_attempts a
  left join pgflow.workers w on w.worker_id = a.worker_id
  where a.run_id = p_run_id and a.step_slug = p_step_slug and a.task_index between p_first_index and p_last_index
  union all
  select t.task_index, t.attempts_count, case t.status when 'started' then 'running' else 'completed' end, t.last_worker_id, w.function_name,
         t.started_at, t.completed_at, null, null, null
  from pgflow.step_tasks t
  left join pgflow.workers w on w.worker_id = t.last_worker_id
  where t.run_id = p_run_id and t.step_slug = p_step_slug and t.task_index between p_first_index and p_last_index
    and t.status in ('started', 'completed') and t.started_at is not null
  order by 1, 2
$$;

-- The reports that were not accepted, each with its reason. Not on the happy path.
create function pgflow._refused_reports(
  p_worker_id uuid, p_reports pgflow._report[], p_completed pgflow._ended_task[], p_failed pgflow._ended_task[])
returns setof pgflow.settled_report
language plpgsql
as $$
begin
  return query
    select u.run_id, u.step_slug, u.task_index, false,
           case when u.problem is not null then u.problem
                when t.run_id is null then 'unknown task'
                when t.attempts_count = u.attempt and t.last_worker_id = p_worker_id and t.status <> 'started' then 'already settled: task is ' || t.status
                when t.status <> 'started' then 'task is ' || t.status
                else 'stale attempt: the task is at attempt ' || t.attempts_count end
    from unnest(p_reports) u
    left join pgflow.step_tasks t on t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
    where u.problem is not null or not exists (
      select from unnest(case u.status when 'completed' then p_completed else p_failed end) a
      where a.run_id = u.run_id and a.step_slug = u.step_slug and a.task_index = u.task_index);
end $$;

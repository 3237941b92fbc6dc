-- Counts completed tasks off their steps and completes the steps that have none left. A map's output is the array of
-- its tasks' outputs by index. A step that feeds a map of its run must have produced an array: if not, it and its run fail,
-- whatever when_exhausted says, and the offending output stays on its task.
create function pgflow._complete_steps(
  p_tasks pgflow._ended_task[], out completed_steps pgflow._state[], out failed_steps pgflow._failed_step[])
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_violating pgflow._state[];
begin
  with counted as (
    select t.flow_slug, t.run_id, t.step_slug, count(*)::integer as tasks_ended, (array_agg(t.output))[1] as output
    from unnest(p_tasks) t group by 1, 2, 3
  ), judged as (
    select c.*, st.step_type,
           st.feeds_map and st.step_type <> 'map' and jsonb_typeof(c.output) is distinct from 'array'
             and pgflow._feeds_map(c.flow_slug, c.run_id, c.step_slug) as is_violation
    from counted c join pgflow.steps st on st.flow_slug = c.flow_slug and st.step_slug = c.step_slug
  ), changed as (
    update pgflow.step_states s set
      remaining_tasks = s.remaining_tasks - j.tasks_ended,
      status = case when s.remaining_tasks > j.tasks_ended or j.is_violation then s.status else 'completed' end,
      completed_at = case when s.remaining_tasks > j.tasks_ended or j.is_violation then null else greatest(v_now, s.started_at) end,
      output = case when s.remaining_tasks > j.tasks_ended or j.is_violation then null
                    when j.step_type <> 'map' then j.output
                    else (select jsonb_agg(t.output order by t.task_index) from pgflow.step_tasks t
                          where t.run_id = j.run_id and t.step_slug = j.step_slug) end
    from judged j
    where s.run_id = j.run_id and s.step_slug = j.step_slug and s.status = 'started'
    returning row(s.*)::pgflow._state as state
  )
  select array_agg(c.state) filter (where (c.state).status = 'completed'),
         array_agg(c.state) filter (where (c.state).status = 'started' and (c.state).remaining_tasks = 0)
  into completed_steps, v_violating from changed c;

  if v_violating is not null then
    with changed as (
      update pgflow.step_tasks t set
        status = 'failed', completed_at = null, failed_at = greatest(v_now, t.queued_at, t.started_at),
        error_message = format('[TYPE_VIOLATION] Step "%s" feeds a map and must return an array, but returned %s',
                               t.step_slug, coalesce(jsonb_typeof(t.output), 'nothing'))
      from unnest(v_violating) v
      where t.run_id = v.run_id and t.step_slug = v.step_slug
      returning t.*
    ), kept as (
      insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason, error_message)
      select c.run_id, c.step_slug, c.task_index, c.attempts_count, c.last_worker_id, c.started_at, c.failed_at, 'type_violation', c.error_message
      from changed c
      on conflict on constraint task_attempts_pkey do nothing
    )
    select array_agg(row(c.run_id, c.step_slug, c.error_message)::pgflow._failed_step) into failed_steps from changed c;
  end if;
end $$;

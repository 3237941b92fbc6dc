-- The reports that were not accepted, each with its reason. Not on the happy path. A second report of one attempt in the
-- same call is refused like one that comes later.
create function pgflow._refused_reports(
  p_worker_id uuid, p_reports pgflow._report[], p_completed pgflow._ended_task[], p_failed pgflow._ended_task[])
returns setof pgflow._refused_report
language plpgsql
as $$
declare
  v_refused_count integer;
begin
  return query
    with reported as (
      select u.ordinal, u.run_id, u.step_slug, u.task_index, u.attempt, u.status, u.problem,
             row_number() over (partition by u.run_id, u.step_slug, u.task_index, u.attempt, u.status order by u.ordinal) as repetition
      from unnest(p_reports) with ordinality
        u(run_id, step_slug, task_index, attempt, status, output, error_message, error_name, error_stack, retry_delay, permanent, forgiven, problem, ordinal)
    )
    select u.ordinal, u.run_id, u.step_slug, u.task_index,
           case when u.problem is not null then u.problem
                when t.run_id is null then 'unknown task'
                when r.status <> 'started' and t.status = 'started' then 'already settled: run is ' || r.status
                when s.status in ('completed', 'failed', 'skipped') and t.status = 'started' then 'already settled: step is ' || s.status
                when t.attempts_count = u.attempt and t.last_worker_id = p_worker_id and t.status <> 'started' then 'already settled: task is ' || t.status
                when t.status <> 'started' then 'task is ' || t.status
                when t.attempts_count = u.attempt then 'the task was claimed by another worker'
                else 'stale attempt: the task is at attempt ' || t.attempts_count end
    from reported u
    left join pgflow.step_tasks t on t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
    left join pgflow.step_states s on s.run_id = t.run_id and s.step_slug = t.step_slug
    left join pgflow.runs r on r.run_id = t.run_id
    where u.problem is not null or u.repetition > 1 or (p_worker_id is not null and u.attempt is distinct from t.attempts_count)
      or not exists (
        select from unnest(case u.status when 'completed' then p_completed else p_failed end) a
        where a.run_id = u.run_id and a.step_slug = u.step_slug and a.task_index = u.task_index);
  get diagnostics v_refused_count = row_count;
  perform nextval('pgflow.counted_refusals') from generate_series(1, v_refused_count);
end $$;

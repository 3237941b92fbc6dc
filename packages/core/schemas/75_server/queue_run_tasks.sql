-- By task index, which the primary key has in order.
create function starflow.queue_run_tasks(
  run_id uuid, step_slug text, after_index integer default null, task_status text default null, max_rows integer default 50)
returns table (
  task_index integer, status text, queued_at timestamptz, started_at timestamptz, ended_at timestamptz, worker_id uuid, attempts_count integer,
  error_message text, output_bytes integer, attempts jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select t.task_index, t.status, t.queued_at, t.started_at, coalesce(t.completed_at, t.failed_at), t.last_worker_id, t.attempts_count,
           case when t.status <> 'completed' then t.error_message end, starflow._json_size(t.output),
           (select coalesce(jsonb_agg(jsonb_build_object(
                     'attempt', a.attempt, 'outcome', a.outcome, 'worker', a.worker_id, 'function', a.function_name,
                     'startedAt', starflow._iso(a.started_at), 'endedAt', starflow._iso(a.ended_at),
                     'error', a.error_message, 'errorName', a.error_name, 'errorStack', a.error_stack)), '[]')
            from starflow._attempts_of_tasks(t.run_id, t.step_slug, t.task_index, t.task_index) a)
    from pgflow.step_tasks t
    where t.run_id = queue_run_tasks.run_id and t.step_slug = queue_run_tasks.step_slug
      and (after_index is null or t.task_index > after_index)
      and (task_status is null or t.status = task_status)
    order by t.task_index
    limit max_rows;
end $$;
comment on function starflow.queue_run_tasks(uuid, text, integer, text, integer) is
  'The tasks of a step of a run in queue placement, by index, each with its attempts. For the next page give the last index.';

create function pgflow.fail_task(
  run_id uuid, step_slug text, task_index integer, error_message text, worker_id uuid default null,
  attempt integer default null, retry_delay integer default null, permanent boolean default false)
returns setof pgflow.step_tasks
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  perform pgflow._settle(fail_task.worker_id, jsonb_build_array(jsonb_build_object(
    'run_id', fail_task.run_id, 'step_slug', fail_task.step_slug, 'task_index', fail_task.task_index, 'attempt', attempt,
    'status', 'failed', 'error_message', fail_task.error_message, 'retry_delay', retry_delay, 'permanent', permanent)));
  return query select t.* from pgflow.step_tasks t
    where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug and t.task_index = fail_task.task_index;
end $$;
comment on function pgflow.fail_task(uuid, text, integer, text, uuid, integer, integer, boolean) is
  'Ends one attempt as failed and returns the task: queued again after its delay (or retry_delay seconds), or failed when permanent or out of attempts.';

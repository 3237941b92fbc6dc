create function pgflow.complete_task(
  run_id uuid, step_slug text, task_index integer, output jsonb, worker_id uuid default null, attempt integer default null)
returns setof pgflow.step_tasks
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  perform pgflow._settle(complete_task.worker_id, jsonb_build_array(jsonb_build_object(
    'run_id', complete_task.run_id, 'step_slug', complete_task.step_slug, 'task_index', complete_task.task_index,
    'attempt', attempt, 'status', 'completed', 'output', complete_task.output::text)));
  return query select t.* from pgflow.step_tasks t
    where t.run_id = complete_task.run_id and t.step_slug = complete_task.step_slug and t.task_index = complete_task.task_index;
end $$;
comment on function pgflow.complete_task(uuid, text, integer, jsonb, uuid, integer) is
  'Completes one started task and returns its row. With worker and attempt only the current claim is accepted; a stale report changes nothing.';

-- Parks tasks of one queue until they are due; the arrays run in parallel. Returns no message ids, in the place of those of send_batch.
create function pgflow._park_tasks(p_queue_name text, p_due_at timestamptz, p_run_ids uuid[], p_step_slugs text[], p_task_indexes integer[])
returns bigint[]
language plpgsql
as $$
begin
  insert into pgflow.parked_tasks (queue_name, due_at, run_id, step_slug, task_index)
  select p_queue_name, p_due_at, u.run_id, u.step_slug, u.task_index
  from unnest(p_run_ids, p_step_slugs, p_task_indexes) u(run_id, step_slug, task_index)
  -- One that a clean-up by hand has left there.
  on conflict on constraint parked_tasks_pkey do update set queue_name = excluded.queue_name, due_at = excluded.due_at;
  return null;
end $$;

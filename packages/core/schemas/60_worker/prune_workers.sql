-- Hourly. A killed worker never says that it stopped; after an hour of silence its row is closed, so that searches for
-- living ones stay short. Rows of a week ago are deleted, only those that no task names and whose isolate or process has ended too: while it
-- goes on, their tasks belong to its CPU. Each deletion makes the foreign
-- key of step_tasks look for such a task without an index (one there would double the cost of every claim), so this
-- stops after 5 s and goes on in an hour.
create function pgflow.prune_workers()
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_until timestamptz := clock_timestamp() + interval '5 seconds';
  v_count integer := 0;
  v_worker_id uuid;
begin
  update pgflow.workers w set stopped_at = pgflow.clock()
  where w.stopped_at is null and w.last_heartbeat_at < pgflow.clock() - interval '1 hour'
    and exists (select from pgflow.worker_functions f where f.function_name = w.function_name and f.start_mode = 'http');
  for v_worker_id in
    select w.worker_id from pgflow.workers w
    where w.last_heartbeat_at < pgflow.clock() - interval '7 days'
      and not exists (select from pgflow.step_tasks t where t.last_worker_id = w.worker_id)
      and not exists (
        select from pgflow.workers o where coalesce(o.execution_id, o.worker_id) = coalesce(w.execution_id, w.worker_id)
          and o.last_heartbeat_at >= pgflow.clock() - interval '7 days')
    order by w.last_heartbeat_at
    for update skip locked
  loop
    exit when clock_timestamp() > v_until;
    delete from pgflow.workers w where w.worker_id = v_worker_id;
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
comment on function pgflow.prune_workers() is 'Deletes workers that were last heard of a week ago, as all of their isolate or process, and that no task names, and closes those silent for an hour. Returns how many were deleted.';

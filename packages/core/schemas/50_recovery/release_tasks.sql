-- Called by a worker that shuts down. Claimed but not started: given back and forgiven. Started and cut off by the
-- shutdown: given back at once, but the attempt counts, and the task ends when it was the last. Locks like a settlement.
create function pgflow.release_tasks(worker_id uuid, tasks jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_released pgflow.step_tasks[];
  v_cut_off jsonb;
  v_refused integer;
begin
  perform pgflow._check_reports(release_tasks.worker_id, tasks);
  -- An entry that names no attempt is held by nobody; the others are given back all the same.
  tasks := (select coalesce(jsonb_agg(t.value), '[]') from jsonb_array_elements(tasks) t where pgflow._names_attempt(t.value));

  perform from pgflow.runs r
  where r.run_id in (select u.run_id from jsonb_to_recordset(tasks) u(run_id uuid)) and r.status not in ('completed', 'failed', 'cancelled')
  order by r.run_id for no key update;

  with changed as (
    update pgflow.step_tasks t set status = 'queued', attempts_forgiven = t.attempts_forgiven + 1
    from jsonb_to_recordset(tasks) u(run_id uuid, step_slug text, task_index integer, attempt integer, started boolean)
    where not coalesce(u.started, false)
      and t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
      and t.status = 'started' and t.attempts_count = u.attempt and t.last_worker_id = release_tasks.worker_id
      and (select r.status from pgflow.runs r where r.run_id = t.run_id) = 'started'
      and (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) = 'started'
    returning t as task
  ), kept as (
    insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason)
    select (c.task).run_id, (c.task).step_slug, (c.task).task_index, (c.task).attempts_count, (c.task).last_worker_id,
           (c.task).started_at, greatest(pgflow.clock(), (c.task).started_at), 'released'
    from changed c
    on conflict on constraint task_attempts_pkey do nothing
  )
  select array_agg(c.task) into v_released from changed c;
  perform count(*)
  from (select r.queue_name, array_agg(r.message_id) as ids from unnest(v_released) r group by r.queue_name order by r.queue_name) q
  cross join lateral pgflow.set_vt_batch(q.queue_name, q.ids, array_fill(0, array[cardinality(q.ids)]));

  select coalesce(jsonb_agg(u.value || jsonb_build_object(
           'status', 'failed', 'error_message', 'The worker shut down before the handler ended', 'error', jsonb_build_object('name', 'WorkerShutdown'),
           'retry_delay', 0)), '[]')
  into v_cut_off
  from jsonb_array_elements(tasks) u where (u.value ->> 'started')::boolean;
  v_refused := coalesce(cardinality(pgflow._settle(release_tasks.worker_id, v_cut_off)), 0);

  return coalesce(cardinality(v_released), 0) + jsonb_array_length(v_cut_off) - v_refused;
end $$;
comment on function pgflow.release_tasks(uuid, jsonb) is
  'A worker gives tasks back: [{run_id, step_slug, task_index, attempt, started}]. Returns how many it still held.';

-- Lives: workers that were started within the last hour. tasks_per_life: what the queues of the function have done since then, shared among them;
-- null where another function serves one of these queues too. cpu_ms_per_task: over the isolates and processes of these lives, and of workers that
-- live on since before; each counts once, however many workers live in it. null where none of them was measured, or none had a task.
create function starflow.list_functions()
returns table (
  function_name text, start_mode text, enabled boolean, enabled_before_fence boolean, fenced_by text, fenced_at timestamptz, disabled_reason text,
  queue_names text[], live_workers integer, last_invoked_at timestamptz, failed_starts integer, last_error text, last_error_at timestamptz,
  lives integer, tasks_per_life double precision, measured_workers integer, cpu_ms_per_task double precision)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select f.function_name, f.start_mode, f.enabled, f.enabled_before_fence, f.fenced_by, f.fenced_at, f.disabled_reason, coalesce(q.queue_names, '{}'),
           (select count(*)::integer from pgflow.workers w where w.function_name = f.function_name and w.stopped_at is null
              and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)),
           f.last_invoked_at, f.failed_starts, left(f.last_error, 2000), f.last_error_at, l.lives,
           case when l.lives > 0 and not coalesce(q.is_shared, true) then d.done::double precision / l.lives end,
           c.workers, c.cpu_ms_per_task
    from pgflow.worker_functions f
    left join lateral (
      select array_agg(x.queue_name order by x.queue_name) as queue_names,
             bool_or(exists (select from pgflow.worker_function_queues o where o.queue_name = x.queue_name and o.function_name <> f.function_name)) as is_shared
      from pgflow.worker_function_queues x where x.function_name = f.function_name) q on true
    cross join lateral (
      select count(*)::integer as lives from pgflow.workers w
      where w.function_name = f.function_name and w.started_at > pgflow.clock() - interval '1 hour') l
    left join lateral (
      select sum(s.done) as done from starflow.queue_samples s
      where s.queue_name = any (q.queue_names) and s.sampled_at > pgflow.clock() - interval '1 hour') d on true
    cross join lateral (
      select coalesce(sum(u.worker_count), 0)::integer as workers, sum(u.cpu_ms)::double precision / nullif(sum(u.tasks_count), 0) as cpu_ms_per_task
      from (select distinct coalesce(w.execution_id, w.worker_id) as execution_id from pgflow.workers w
            where w.function_name = f.function_name and (w.started_at > pgflow.clock() - interval '1 hour' or (w.stopped_at is null and pgflow._heartbeat_is_fresh(w)))) x
      cross join lateral pgflow._execution_usage(x.execution_id) u
      where u.cpu_ms is not null and u.tasks_count is not null) c
    order by f.function_name;
end $$;
comment on function starflow.list_functions() is 'Worker functions with their fence, what they serve, how their starts went, how much a worker of theirs does in its life, and what a task takes of the CPU.';

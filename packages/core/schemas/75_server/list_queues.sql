-- Each queue once, however many routes lead there. done_per_minute: since the newest sample that is at least 50 s old.
create function starflow.list_queues()
returns table (
  queue_name text, steps text[], depth integer, in_flight integer, oldest_age interval, waiting_age interval, stalled integer,
  unsupported integer, live_workers integer, function_names text[], is_fenced boolean, fence text, done_per_minute double precision,
  parked integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    with queue as (
      select q.queue_name, array_agg(q.step order by q.flow_slug, q.step_index) filter (where q.step is not null) as steps
      from (select r.queue_name, r.flow_slug, r.step_index, r.flow_slug || '.' || r.step_slug as step from pgflow._routes r
            union all select f.queue_name, null, null, null from pgflow.worker_function_queues f) q
      group by q.queue_name
      order by q.queue_name
    ), looked_at as materialized (
      -- In the order in which a deletion drops them: else each could wait for a queue that the other has. Materialized, so that
      -- no join comes in between.
      select q.queue_name, q.steps, m.depth, m.in_flight, m.oldest_age, m.archived_count, t.waiting_age, t.stalled, t.unsupported
      from queue q
      cross join lateral pgflow._queue_measures(q.queue_name) m
      cross join lateral pgflow._queue_troubles(q.queue_name, q.steps is not null) t
    ), live as (
      select lower(w.queue_name collate "C") as queue_name, count(*)::integer as live_workers from pgflow.workers w
      where w.stopped_at is null and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w) group by 1
    ), functions as (
      select f.queue_name, array_agg(f.function_name order by f.function_name) as function_names, not bool_or(f.enabled) as is_fenced,
             string_agg(distinct f.fence, '; ') as fence
      from pgflow._queue_functions f group by f.queue_name
    )
    select q.queue_name, coalesce(q.steps, '{}'), q.depth, q.in_flight, q.oldest_age, q.waiting_age, coalesce(q.stalled, 0), q.unsupported,
           coalesce(l.live_workers, 0), coalesce(f.function_names, '{}'), coalesce(f.is_fenced, false), f.fence,
           case when q.archived_count >= s.archived_count
                then (q.archived_count - s.archived_count) * 60 / extract(epoch from clock_timestamp() - s.sampled_at)::double precision end,
           (select count(*)::integer from (select from pgflow.parked_tasks p where p.queue_name = q.queue_name limit 10000) x)
    from looked_at q
    left join live l on l.queue_name = lower(q.queue_name collate "C")
    left join functions f on f.queue_name = q.queue_name
    left join lateral (
      select x.sampled_at, x.archived_count from starflow.queue_samples x
      where x.queue_name = q.queue_name and x.sampled_at between clock_timestamp() - interval '5 minutes' and clock_timestamp() - interval '50 seconds'
      order by x.sampled_at desc limit 1) s on true
    order by q.queue_name;
end $$;
comment on function starflow.list_queues() is
  'Every queue that a route leads to, or a worker function serves: how full it is (counted up to 10 000; null: it is gone), what is wrong, who serves it, and how many tasks are parked until their time comes (counted up to 10 000).';

-- Every persisted route beside the workers that serve it. Each queue is measured once, however many steps share it, and
-- counted up to 1000: a full count of a long queue at every look would cost more than it tells.
create view pgflow.queue_coverage as
  with queues as materialized (
    select q.queue_name, d.depth, d.oldest_age
    -- In the order in which a deletion drops them: else each could wait for a queue that the other has. Materialized, so that
    -- no join comes in between.
    from (select distinct s.queue_name from pgflow._routes s order by s.queue_name) q
    left join lateral pgflow._queue_depth(q.queue_name) d on true
  ), live as (
    -- A released worker writes the slug of its flow, in its own case, as the name of its queue.
    select lower(w.queue_name collate "C") as queue_name, count(*)::integer as live_workers
    from pgflow.workers w
    where w.stopped_at is null and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)
    group by 1
  ), functions as (
    select x.queue_name, array_agg(x.function_name order by x.function_name) as function_names,
           not bool_or(x.enabled) as fenced, string_agg(distinct x.fence, '; ') as fence
    from pgflow._queue_functions x
    group by x.queue_name
  )
  select s.flow_slug, s.step_slug, s.step_index, s.queue_name, q.depth, q.oldest_age,
         coalesce(l.live_workers, 0) as live_workers, f.function_names, coalesce(f.fenced, false) as fenced, f.fence
  from pgflow._routes s
  join queues q on q.queue_name = s.queue_name
  left join live l on l.queue_name = s.queue_name
  left join functions f on f.queue_name = s.queue_name;
comment on view pgflow.queue_coverage is
  'Every route with its queue''s depth (counted up to 1000; null: the queue is gone), the age of its oldest message, its live workers, its functions, and whether all of these are disabled.';

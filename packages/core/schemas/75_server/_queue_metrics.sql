-- Of each queue that a route leads to, or a worker function serves. Uncovered: nothing would claim from it now.
create function starflow._queue_metrics()
returns setof starflow.metric_sample
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with measured as materialized (
    select q.queue_name, m.*
    -- In the order in which a deletion drops them: else each could wait for a queue that the other has. Materialized, so that
    -- no join comes in between.
    from (select queue_name from pgflow._routes union select queue_name from pgflow.worker_function_queues order by queue_name) q
    cross join lateral pgflow._queue_measures(q.queue_name) m
  ), live as (
    select lower(w.queue_name collate "C") as queue_name, count(*) as workers from pgflow.workers w
    where w.stopped_at is null and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w) group by 1
  ), fenced as (
    select f.queue_name, not bool_or(f.enabled) as is_fenced from pgflow._queue_functions f group by f.queue_name
  ), queue as (
    select q.*, coalesce(l.workers, 0) as live_workers, coalesce(f.is_fenced, false) as is_fenced
    from measured q
    left join live l on l.queue_name = lower(q.queue_name collate "C")
    left join fenced f on f.queue_name = q.queue_name
  )
  select x.metric, jsonb_build_object('queue', q.queue_name), x.value
  from queue q
  cross join lateral (values
    ('starflow_queue_depth', q.depth::double precision),
    ('starflow_queue_in_flight', q.in_flight),
    ('starflow_queue_oldest_age_seconds', case when q.depth is not null then coalesce(extract(epoch from q.oldest_age), 0) end),
    ('starflow_queue_sent_total', q.sent_count),
    ('starflow_queue_archived_total', q.archived_count),
    ('starflow_queue_live_workers', q.live_workers),
    ('starflow_queue_uncovered', (q.depth is null or q.is_fenced or q.live_workers = 0)::integer)
  ) x (metric, value)
  where x.value is not null
$$;

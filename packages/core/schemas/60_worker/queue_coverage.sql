-- Every persisted route beside the workers that serve it. Depth is the planner's cheap count up to 1000 rows, then the
-- exact figure stops: a full count of a long queue every tick would cost more than it tells.
create view pgflow.queue_coverage as
  select s.flow_slug, s.step_slug, s.step_index, s.queue_name,
         d.depth, d.oldest_age,
         coalesce(w.live_workers, 0) as live_workers, w.function_names, coalesce(w.fenced, false) as fenced
  from pgflow.steps s
  left join lateral pgflow._queue_depth(s.queue_name) d on true
  left join lateral (
    select count(*) filter (where x.deprecated_at is null and pgflow._heartbeat_is_fresh(x))::integer as live_workers,
           array_agg(distinct x.function_name) as function_names,
           bool_or(not f.enabled) as fenced
    from pgflow.workers x left join pgflow.worker_functions f on f.function_name = x.function_name
    where x.queue_name = s.queue_name and x.last_heartbeat_at > pgflow.clock() - interval '7 days'
  ) w on true;
comment on view pgflow.queue_coverage is 'Every route with its queue''s depth (counted up to 1000), the age of its oldest message, and the workers that serve it.';

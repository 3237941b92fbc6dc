-- Thinned to about max_points: of the samples that become one point, the largest depth, the oldest age and the fewest workers count, so that
-- no trouble is averaged away.
create function starflow.queue_history(queue_name text, sampled_from timestamptz, sampled_until timestamptz, max_points integer default 500)
returns table (
  sampled_at timestamptz, depth integer, in_flight integer, oldest_seconds real, live_workers integer, done integer, done_per_minute real)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  -- Whole minutes, since there is a sample per minute.
  v_width interval := make_interval(mins => greatest(1, ceil(extract(epoch from sampled_until - sampled_from) / 60 / max_points)::integer));
begin
  return query
    select date_bin(v_width, s.sampled_at, timestamptz 'epoch') as at, max(s.depth), max(s.in_flight), max(s.oldest_seconds), min(s.live_workers),
           sum(s.done)::integer, (sum(s.done) * 60 / nullif(sum(s.done_seconds), 0))::real
    from starflow.queue_samples s
    where s.queue_name = queue_history.queue_name and s.sampled_at >= sampled_from and s.sampled_at < sampled_until
    group by at
    order by at;
end $$;
comment on function starflow.queue_history(text, timestamptz, timestamptz, integer) is
  'The samples of a queue from an instant on and before another, thinned to about max_points, in order.';

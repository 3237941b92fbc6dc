-- Each minute, from pg_cron. A queue costs one bounded pass, however many messages it has; after 5 s the rest are left for the next minute,
-- which begins with those that were sampled longest ago.
create function starflow.sample_queues()
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_until timestamptz := clock_timestamp() + interval '5 seconds';
  v_now timestamptz := pgflow.clock();
  v_count integer := 0;
  v_queue record;
  v_measures record;
  v_done bigint;
begin
  for v_queue in
    select q.queue_name, s.sampled_at, s.archived_count,
           (select count(*)::integer from pgflow.workers w where lower(w.queue_name collate "C") = lower(q.queue_name collate "C") and w.stopped_at is null
              and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)) as live_workers, q.flow_slug
    from (select u.queue_name, max(u.flow_slug) as flow_slug
          from (select queue_name, flow_slug from pgflow._routes union all select queue_name, null from pgflow.worker_function_queues) u
          group by u.queue_name) q
    left join lateral (
      select x.sampled_at, x.archived_count from starflow.queue_samples x
      where x.queue_name = q.queue_name order by x.sampled_at desc limit 1) s on true
    order by s.sampled_at nulls first, q.queue_name
  loop
    exit when clock_timestamp() > v_until;
    -- Queues are looked at in the order of their age, which is not that in which a deletion drops them.
    continue when v_queue.flow_slug is not null and not pg_try_advisory_xact_lock_shared(pgflow._deletion_lock(v_queue.flow_slug));
    select * into v_measures from pgflow._queue_measures(v_queue.queue_name);
    continue when v_measures.depth is null;
    v_done := v_measures.archived_count - v_queue.archived_count;
    if v_done < 0 then
      v_done := null;
    end if;
    insert into starflow.queue_samples (queue_name, sampled_at, depth, in_flight, oldest_seconds, live_workers, archived_count, done, done_seconds)
    values (v_queue.queue_name, v_now, v_measures.depth, v_measures.in_flight, extract(epoch from v_measures.oldest_age), v_queue.live_workers,
            coalesce(v_measures.archived_count, 0), v_done, case when v_done is not null then extract(epoch from v_now - v_queue.sampled_at) end)
    on conflict on constraint queue_samples_pkey do nothing;
    v_count := v_count + 1;
  end loop;
  if extract(minute from v_now) = 0 or not exists (select from starflow.queue_samples s where s.sampled_at > v_now - interval '1 hour' and s.sampled_at < v_now) then
    delete from starflow.queue_samples s where s.sampled_at < v_now - interval '7 days';
  end if;
  return v_count;
end $$;
comment on function starflow.sample_queues() is 'Adds a sample of each queue to queue_samples, and once an hour deletes those of more than a week ago. Returns how many queues were sampled: what cannot be within 5 s is left for the next call.';

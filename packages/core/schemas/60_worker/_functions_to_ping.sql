-- Enabled http functions that are due, by name: their debounce has passed, their back-off too, and one of their queues
-- has no worker that lives and claims; also those in their back-off of which it is not known yet how their last start went.
-- is_down: none of its workers lives. The released local mode pings all of them.
-- "not in" because it is hashed: with 200 functions "not exists" on the same rows took ten times as long.
create function pgflow._functions_to_ping(p_all boolean)
returns table (worker_function pgflow.worker_functions, is_down boolean, is_backing_off boolean)
language plpgsql stable
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  return query
    with live as materialized (
      select w.function_name, w.queue_name
      from pgflow.workers w join pgflow.worker_functions f on f.function_name = w.function_name
      where w.stopped_at is null and w.deprecated_at is null
        and w.last_heartbeat_at between v_now - greatest(interval '12 seconds', f.debounce) and v_now + greatest(interval '12 seconds', f.debounce)
    ), queues_without_worker as (
      select q.function_name from pgflow.worker_function_queues q
      where q.enabled and (q.function_name, q.queue_name) not in (select l.function_name, l.queue_name from live l)
        -- A queue that the function has not served for a while is one that it does not host any longer.
        and (q.served_at > v_now - interval '10 minutes'
             or exists (select from pgflow.workers w where w.function_name = q.function_name and w.queue_name = q.queue_name
                        and w.stopped_at is null and w.last_heartbeat_at > v_now - interval '10 minutes'))
    )
    select f, f.function_name not in (select l.function_name from live l), b.is_backing_off
    from pgflow.worker_functions f
    cross join lateral (
      select f.failed_starts > 0 and coalesce(
        greatest(f.last_error_at, f.last_invoked_at) >= v_now - pgflow._start_back_off(f.debounce, f.failed_starts), false)
        and not pgflow._has_come_up(f.function_name, f.last_error_at) as is_backing_off) b
    where f.enabled and f.start_mode = 'http'
      and (p_all or (
        (f.function_name not in (select l.function_name from live l)
         or f.function_name in (select x.function_name from queues_without_worker x))
        and not exists (select from pgflow.worker_function_queues q where q.function_name = f.function_name
                        having count(*) > 0 and not bool_or(q.enabled))
        -- A worker that stopped by itself is replaced at once; the debounce is for pings that did not bring one up.
        -- A ping in the future is from before the clock was set back.
        and (f.last_invoked_at is null or f.last_invoked_at not between v_now - f.debounce and v_now + f.debounce
             or exists (select from pgflow.workers w where w.function_name = f.function_name
                        and w.started_at >= f.last_invoked_at and (w.stopped_at is not null or w.deprecated_at is not null)))
        and (not b.is_backing_off or f.start_awaited_since is not null)))
    order by f.function_name;
end $$;

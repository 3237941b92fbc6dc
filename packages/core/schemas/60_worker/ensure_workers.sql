-- Every second from cron: pings each enabled http function whose debounce has passed and that has no worker which is
-- live and still claiming. Takes the functions' rows with skip locked and keeps them to its end, so that ten calls at
-- once ping once. Only a ping that pg_net took counts as an invocation; one that it refuses blocks nobody else.
create function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language plpgsql
set search_path = ''
as $$
declare
  v_target record;
  v_function record;
begin
  select * into v_target from pgflow._ping_target();
  if v_target.base_url is null or (v_target.auth_key is null and not v_target.is_released_local_mode) then
    return;
  end if;

  for v_function in
    select f.function_name from pgflow.worker_functions f
    where f.enabled and f.start_mode = 'http'
      and (v_target.is_released_local_mode or (
        -- A worker that stopped by itself is replaced at once; the debounce is for pings that did not bring one up.
        (f.last_invoked_at is null or f.last_invoked_at < pgflow.clock() - f.debounce
         or exists (select from pgflow.workers w where w.function_name = f.function_name
                    and w.started_at >= f.last_invoked_at and (w.stopped_at is not null or w.deprecated_at is not null)))
        -- Starts that fail back off: 6 s, 12 s, … 5 min.
        and (f.failed_starts = 0 or f.last_error_at < pgflow.clock() - least(interval '5 minutes', f.debounce * power(2, least(f.failed_starts, 10) - 1)))
        and not exists (select from pgflow.workers w where w.function_name = f.function_name
                        and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w))))
    order by f.function_name
    for no key update skip locked
  loop
    function_name := v_function.function_name;
    begin
      request_id := net.http_post(
        url => v_target.base_url || '/' || v_function.function_name,
        body => '{}'::jsonb,
        headers => jsonb_strip_nulls(jsonb_build_object(
          'Content-Type', 'application/json', 'Authorization', 'Bearer ' || v_target.auth_key, 'apikey', v_target.auth_key)),
        timeout_milliseconds => 10000);
      invoked := request_id is not null;
    exception when others then
      request_id := null;
      invoked := false;
      update pgflow.worker_functions f set last_error = left('ping: ' || sqlerrm, 2000), last_error_at = pgflow.clock()
      where f.function_name = v_function.function_name;
    end;
    if invoked then
      update pgflow.worker_functions f set last_invoked_at = pgflow.clock() where f.function_name = v_function.function_name;
    end if;
    return next;
  end loop;
end $$;
comment on function pgflow.ensure_workers() is 'Pings every enabled http worker function that has no live worker. One row per function that was due.';

-- Every second from cron. Waits for nobody and makes nobody wait: a function is taken by an advisory lock, never by its
-- row, so that ten calls at once ping once and yet a worker can register while a ping hangs; what is learnt is written at
-- the end, leaving out rows that somebody holds. Only a ping that pg_net took counts as an invocation; one that it
-- refuses blocks nobody else. Secrets are read only when somebody is due.
-- Before a function without any worker is pinged again, the answer to the ping before is looked at: it may be the only one
-- who knows why none came.
create function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
-- pg_net's queue may be locked; then nobody can be pinged, and the next tick tries again.
set lock_timeout = '1s'
as $$
declare
  v_released_local_mode boolean := pgflow.get_setting('functions_base_url') is null and pgflow.is_local();
  v_target record;
  v_due record;
  v_function pgflow.worker_functions;
  v_is_over boolean;
  v_start_error text;
  v_failed_at timestamptz;
  v_has_to_wait boolean;
  v_is_locked boolean := false;
  v_ping_error text;
  v_learnt jsonb := '[]';
begin
  for v_due in select d.* from pgflow._functions_to_ping(v_released_local_mode) d loop
    v_function := v_due.worker_function;
    if v_target is null then
      select * into v_target from pgflow._ping_target();
      exit when v_target.base_url is null or (v_target.auth_key is null and not v_released_local_mode);
    end if;
    continue when not pg_catalog.pg_try_advisory_xact_lock(
      pg_catalog.hashtext('pgflow.ensure_workers'), pg_catalog.hashtext(v_function.function_name));
    -- Whoever held the lock a moment ago may have pinged it, or counted its failed start.
    continue when not exists (
      select from pgflow.worker_functions f where f.function_name = v_function.function_name and f.enabled
        and (f.last_invoked_at, f.start_request_id, f.failed_starts)
            is not distinct from (v_function.last_invoked_at, v_function.start_request_id, v_function.failed_starts));

    function_name := v_function.function_name;
    request_id := null;
    v_ping_error := null;
    v_start_error := null;
    v_is_over := false;
    if v_due.is_down then
      begin
        select s.is_over, s.error_message, s.failed_at into v_is_over, v_start_error, v_failed_at
        from pgflow._failed_start(v_function, v_target.auth_key) s;
      exception when lock_not_available then
        v_is_locked := true;
      end;
      exit when v_is_locked;
    end if;
    v_has_to_wait := not v_released_local_mode and (v_due.is_backing_off or (v_start_error is not null
      and greatest(v_failed_at, v_function.last_invoked_at)
          >= pgflow.clock() - pgflow._start_back_off(v_function.debounce, v_function.failed_starts + 1)));
    -- Also that there is nothing left to wait for is written down: else it would be found again each second.
    continue when v_has_to_wait and not v_is_over;

    if not v_has_to_wait then
      begin
        request_id := net.http_post(
          url => v_target.base_url || '/' || v_function.function_name, body => '{}'::jsonb,
          headers => pgflow._ping_headers(v_target.auth_key), timeout_milliseconds => 10000);
      exception when others then
        v_is_locked := sqlstate = '55P03';
        v_ping_error := left('ping: ' || sqlerrm, 2000);
      end;
      if v_due.is_down and v_is_over and request_id is not null then
        insert into pgflow.awaited_pings as p (function_name, request_id) values (v_function.function_name, ensure_workers.request_id)
        on conflict on constraint awaited_pings_pkey do update set request_id = excluded.request_id;
      end if;
      invoked := request_id is not null;
      return next;
    end if;
    v_learnt := v_learnt || jsonb_build_object(
      'function_name', function_name, 'request_id', request_id, 'ping_error', v_ping_error,
      'start_error', v_start_error, 'failed_at', v_failed_at, 'failed_starts', v_function.failed_starts,
      'awaited_request_id', v_function.start_request_id,
      'has_to_start', v_due.is_down, 'is_awaited_already', v_due.is_down and not v_is_over);
    exit when v_is_locked;
  end loop;

  update pgflow.worker_functions f set
    last_invoked_at = case when l.request_id is not null then pgflow.clock() else f.last_invoked_at end,
    failed_starts = f.failed_starts + (l.new_error is not null)::integer,
    last_error = coalesce(l.ping_error, l.new_error, f.last_error),
    last_error_at = case when l.ping_error is not null then pgflow.clock() when l.new_error is not null then l.failed_at else f.last_error_at end,
    start_awaited_since = case when l.is_awaited_already then f.start_awaited_since
                               when l.has_to_start and l.request_id is not null then pgflow.clock() end,
    start_request_id = case when l.is_awaited_already then f.start_request_id when l.has_to_start then l.request_id end
  from (select x.*,
               -- Unless a worker has registered, or has told its failure itself, since that was looked at.
               case when (w.failed_starts, w.start_request_id) is not distinct from (x.failed_starts, x.awaited_request_id)
                      and not pgflow._has_come_up(w.function_name, w.start_awaited_since)
                    then x.start_error end as new_error
        from jsonb_to_recordset(v_learnt) as x(
          function_name text, request_id bigint, ping_error text, start_error text, failed_at timestamptz,
          failed_starts integer, awaited_request_id bigint, has_to_start boolean, is_awaited_already boolean)
        join pgflow.worker_functions w on w.function_name = x.function_name
        order by x.function_name for no key update of w skip locked) l
  where f.function_name = l.function_name;
end $$;
comment on function pgflow.ensure_workers() is
  'Pings every enabled http worker function that has no live worker, and counts a ping that brought none as a failed start. One row per function that was pinged.';

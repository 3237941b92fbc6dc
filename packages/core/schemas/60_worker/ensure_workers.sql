-- Every second from cron. Waits for nobody and makes nobody wait: a function is taken by an advisory lock, never by its
-- row, so that ten calls at once ping once and yet a worker can register while a ping hangs; what is learnt is written at
-- the end, leaving out rows that somebody holds. Only a ping that pg_net took counts as an invocation; one that it
-- refuses blocks nobody else. Secrets are read only when somebody is due.
create function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language plpgsql
set search_path = ''
-- pg_net's queue may be locked; then nobody can be pinged, and the next tick tries again.
set lock_timeout = '1s'
as $$
declare
  v_released_local_mode boolean := pgflow.get_setting('functions_base_url') is null and pgflow.is_local();
  v_target record;
  v_function record;
  v_is_locked boolean := false;
  v_invoked text[] := '{}';
  v_failed text[] := '{}';
  v_errors text[] := '{}';
begin
  for v_function in select d.* from pgflow._functions_to_ping(v_released_local_mode) d loop
    if v_target is null then
      select * into v_target from pgflow._ping_target();
      exit when v_target.base_url is null or (v_target.auth_key is null and not v_released_local_mode);
    end if;
    continue when not pg_catalog.pg_try_advisory_xact_lock(
      pg_catalog.hashtext('pgflow.ensure_workers'), pg_catalog.hashtext(v_function.function_name));
    -- Whoever held the lock a moment ago may have pinged it.
    continue when not exists (
      select from pgflow.worker_functions f where f.function_name = v_function.function_name and f.enabled
        and f.last_invoked_at is not distinct from v_function.last_invoked_at);

    function_name := v_function.function_name;
    begin
      request_id := net.http_post(
        url => v_target.base_url || '/' || v_function.function_name, body => '{}'::jsonb,
        headers => pgflow._ping_headers(v_target.auth_key), timeout_milliseconds => 10000);
    exception when others then
      request_id := null;
      v_is_locked := sqlstate = '55P03';
      v_failed := v_failed || v_function.function_name;
      v_errors := v_errors || left('ping: ' || sqlerrm, 2000);
    end;
    invoked := request_id is not null;
    if invoked then
      v_invoked := v_invoked || v_function.function_name;
    end if;
    return next;
    exit when v_is_locked;
  end loop;

  update pgflow.worker_functions f set
    last_invoked_at = case when free.is_invoked then pgflow.clock() else f.last_invoked_at end,
    last_error = case when free.is_invoked then f.last_error else v_errors[array_position(v_failed, f.function_name)] end,
    last_error_at = case when free.is_invoked then f.last_error_at else pgflow.clock() end
  from (select x.function_name, x.function_name = any (v_invoked) as is_invoked from pgflow.worker_functions x
        where x.function_name = any (v_invoked || v_failed) order by x.function_name for no key update skip locked) free
  where f.function_name = free.function_name;
end $$;
comment on function pgflow.ensure_workers() is 'Pings every enabled http worker function that has no live worker. One row per function that was due.';

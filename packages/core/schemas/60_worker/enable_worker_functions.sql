-- For a function that was disabled by hand or by the strict policy (onUnsupportedMessage: halt). Under a fence the memory
-- changes, so that the fence holds until it is lifted.
create function pgflow.enable_worker_functions(function_names text[])
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_worker_functions(enable_worker_functions.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (enable_worker_functions.function_names)
  order by f.function_name for no key update;
  update pgflow.worker_functions f set
    enabled = f.fenced_at is null, enabled_before_fence = case when f.fenced_at is not null then true end,
    disabled_reason = null, failed_starts = 0, start_awaited_since = null, start_request_id = null, updated_at = pgflow.clock()
  where f.function_name = any (enable_worker_functions.function_names);
  update pgflow.worker_function_queues q set enabled = true, disabled_reason = null
  where q.function_name = any (enable_worker_functions.function_names) and not q.enabled;
  return query select f.* from pgflow.worker_functions f
    where f.function_name = any (enable_worker_functions.function_names) order by f.function_name;
end $$;
comment on function pgflow.enable_worker_functions(text[]) is 'Enables worker functions that were disabled by hand or by the halt policy. A fence stays until it is lifted.';

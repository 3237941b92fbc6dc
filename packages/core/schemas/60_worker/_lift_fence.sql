-- Their rows are locked by the caller.
create function pgflow._lift_fence(p_function_names text[])
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.worker_functions f set
    enabled = f.enabled_before_fence, updated_at = pgflow.clock(), failed_starts = 0, start_awaited_since = null, start_request_id = null,
    disabled_reason = case when f.enabled_before_fence then null else f.disabled_reason end,
    enabled_before_fence = null, fenced_by = null, fenced_at = null
  where f.function_name = any (p_function_names) and f.fenced_at is not null;
  return query select f.* from pgflow.worker_functions f where f.function_name = any (p_function_names) order by f.function_name;
end $$;

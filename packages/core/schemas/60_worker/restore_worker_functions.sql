-- Puts back what the fence remembered and forgets it. What was deployed meanwhile is tried at once: failed starts of the
-- code before do not count. A function that is not fenced stays as it is.
create function pgflow.restore_worker_functions(function_names text[])
returns setof pgflow.worker_functions
language plpgsql
set search_path = ''
as $$
begin
  perform pgflow._check_worker_functions(restore_worker_functions.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (restore_worker_functions.function_names)
  order by f.function_name for no key update;
  update pgflow.worker_functions f set
    enabled = f.enabled_before_fence, updated_at = pgflow.clock(), failed_starts = 0, start_awaited_since = null, start_request_id = null,
    disabled_reason = case when f.enabled_before_fence then null else f.disabled_reason end,
    enabled_before_fence = null, fenced_by = null, fenced_at = null
  where f.function_name = any (restore_worker_functions.function_names) and f.fenced_at is not null;
  return query select f.* from pgflow.worker_functions f
    where f.function_name = any (restore_worker_functions.function_names) order by f.function_name;
end $$;
comment on function pgflow.restore_worker_functions(text[]) is 'Lifts the fence: enabled is again what it was before. Returns the rows. Twice is fine.';

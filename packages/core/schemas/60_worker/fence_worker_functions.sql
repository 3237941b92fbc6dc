-- All or none, rows locked in the order of their names. The value found in enabled is remembered once: fencing again, by
-- the same name, keeps the first memory, so that whoever was killed half-way can begin anew.
create function pgflow.fence_worker_functions(function_names text[], fenced_by text)
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_foreign record;
begin
  if coalesce(btrim(fence_worker_functions.fenced_by), '') = '' then
    perform pgflow._raise('SF001', 'A fence needs a name.', 'fenced_by is empty.', 'Say who fences, for example ''deploy of orders by ana''.');
  end if;
  perform pgflow._check_worker_functions(fence_worker_functions.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (fence_worker_functions.function_names)
  order by f.function_name for no key update;

  select min(f.fenced_by) as fenced_by, min(f.fenced_at) as fenced_at, string_agg(f.function_name, ', ' order by f.function_name) as names
  into v_foreign
  from pgflow.worker_functions f
  where f.function_name = any (fence_worker_functions.function_names) and f.fenced_by <> fence_worker_functions.fenced_by;
  if v_foreign.names is not null then
    perform pgflow._raise('SF421', format('"%s" cannot fence what "%s" has fenced.', fence_worker_functions.fenced_by, v_foreign.fenced_by),
      format('Worker functions %s, since %s. Nothing was changed.', v_foreign.names, to_char(v_foreign.fenced_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')),
      'Wait until it is done. If it will never be, run it again to its end, or restore those functions.');
  end if;

  update pgflow.worker_functions f set
    enabled = false, updated_at = pgflow.clock(), fenced_by = fence_worker_functions.fenced_by,
    enabled_before_fence = coalesce(f.enabled_before_fence, f.enabled), fenced_at = coalesce(f.fenced_at, pgflow.clock())
  where f.function_name = any (fence_worker_functions.function_names);
  return query select f.* from pgflow.worker_functions f
    where f.function_name = any (fence_worker_functions.function_names) order by f.function_name;
end $$;
comment on function pgflow.fence_worker_functions(text[], text) is
  'Disables worker functions and remembers what enabled was (once). Refuses, by name, functions that somebody else has fenced. Returns the rows.';

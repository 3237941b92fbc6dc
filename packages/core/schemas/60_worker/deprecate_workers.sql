create function pgflow.deprecate_workers(function_names text[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count integer;
begin
  update pgflow.workers w set deprecated_at = pgflow.clock()
  where w.function_name = any (deprecate_workers.function_names) and w.stopped_at is null and w.deprecated_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end $$;
comment on function pgflow.deprecate_workers(text[]) is
  'Tells every worker of these functions to claim no more, finish what it has started, and stop. Returns how many were told.';

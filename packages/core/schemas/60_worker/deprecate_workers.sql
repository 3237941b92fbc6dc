create function pgflow.deprecate_workers(function_names text[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count integer;
begin
  update pgflow.workers w set deprecated_at = pgflow.clock()
  from (
    select x.worker_id from pgflow.workers x
    where x.function_name = any (deprecate_workers.function_names) and x.stopped_at is null and x.deprecated_at is null
    order by x.worker_id for no key update
  ) told
  where w.worker_id = told.worker_id;
  get diagnostics v_count = row_count;
  return v_count;
end $$;
comment on function pgflow.deprecate_workers(text[]) is
  'Tells every worker of these functions to claim no more, finish what it has started, and stop. Returns how many were told.';

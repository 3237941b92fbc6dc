-- All runs are locked first, in the order of their ids, as every call does that takes many.
create function pgflow.cancel_runs(run_ids uuid[], reason text default null)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  return query
    select c.* from unnest(pgflow._lock_changeable_runs(cancel_runs.run_ids)) u(run_id)
    cross join lateral pgflow.cancel_run(u.run_id, cancel_runs.reason) c;
end $$;
comment on function pgflow.cancel_runs(uuid[], text) is
  'cancel_run for many runs in one transaction, whatever their order. Use it instead of calling cancel_run for each row of a query, which takes the runs in the order of that query: two such calls, or one and a worker, could wait for each other. Returns the runs that are there and that the caller may change, by their ids.';

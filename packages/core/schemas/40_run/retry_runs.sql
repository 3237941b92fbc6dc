-- All runs are locked first, in the order of their ids, as every call does that takes many.
create function pgflow.retry_runs(run_ids uuid[])
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  return query
    select c.* from unnest(pgflow._lock_changeable_runs(retry_runs.run_ids)) u(run_id)
    cross join lateral pgflow.retry_run(u.run_id) c;
end $$;
comment on function pgflow.retry_runs(uuid[]) is
  'retry_run for many runs in one transaction, whatever their order: see cancel_runs. Returns the runs that are there and that the caller may change, by their ids.';

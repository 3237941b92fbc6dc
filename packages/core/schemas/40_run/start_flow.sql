create function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null)
returns setof pgflow.runs
language plpgsql
set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_run_id uuid := coalesce(start_flow.run_id, pgflow.new_run_id());
begin
  perform pgflow._start_runs(start_flow.flow_slug, array[v_run_id], array[start_flow.input]);
  perform pgflow._check_run_ids(start_flow.flow_slug, array[v_run_id]);
  return query select r.* from pgflow.runs r where r.run_id = v_run_id;
end $$;
comment on function pgflow.start_flow(text, jsonb, uuid) is
  'Starts a run and returns it. The same run_id again gives the existing run of the same flow; one of another flow is refused.';

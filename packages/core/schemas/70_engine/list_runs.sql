-- Planned for the filters at hand, and always in the order of an index: to sort means to read all runs for one page. What no index
-- tells is looked at run by run, and no further than look_at: of a page that ends there, the last row is no run of the list
-- (is_found is false), and the next page begins behind it.
create function starflow.list_runs(
  workspace_id text default null, env text default null, template_id text default null, statuses text[] default null, search text default null,
  first_id uuid default null, last_id uuid default null, created_from timestamptz default null, created_before timestamptz default null,
  before_created_at timestamptz default null, before_id uuid default null, max_rows integer default 50, look_at integer default null)
returns setof starflow.listed_run
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set enable_sort = off set enable_incremental_sort = off
set enable_bitmapscan = off set max_parallel_workers_per_gather = 0 set jit = off
as $$
#variable_conflict use_column
declare
  v_run starflow.listed_run;
  v_found integer := 0;
  v_looked_at integer := 0;
  -- Statuses that have an index of their own.
  v_is_indexed boolean := list_runs.statuses <@ '{error,cancelled}' or list_runs.statuses <@ '{queued,running,paused}';
begin
  -- Ids are in no order of time; few begin alike, and are sorted. The setting ends with the function.
  if first_id is not null then
    perform set_config('enable_sort', 'on', true);
  end if;
  for v_run in
    select r.id, r.template_id, r.workspace_id, r.env, r.status, r.claim_state, r.error, r.definition_id, r.runner_pool, r.leased_by,
           r.lease_until, r.last_heartbeat, r.claim_attempts, r.created_at, r.queued_at, r.available_at, r.started_at, r.completed_at,
           r.cancelled_at, r.duration_ms, true
    from starflow.workflow_runs r
    where (list_runs.workspace_id is null or r.workspace_id = list_runs.workspace_id)
      and (first_id is null or r.id between first_id and last_id)
      and (created_from is null or r.created_at >= created_from)
      and (created_before is null or r.created_at < created_before)
      and (before_created_at is null or (r.created_at, r.id) < (before_created_at, before_id))
      and (not coalesce(v_is_indexed, false) or r.status = any (list_runs.statuses))
    order by r.created_at desc, r.id desc
    limit look_at
  loop
    v_looked_at := v_looked_at + 1;
    continue when v_run.env <> list_runs.env or v_run.template_id is distinct from coalesce(list_runs.template_id, v_run.template_id)
      or v_run.status <> all (list_runs.statuses)
      or not coalesce(starts_with(v_run.id::text, search) or strpos(lower(v_run.template_id collate "C"), search) > 0 or strpos(lower(v_run.error), search) > 0,
                      search is null);
    return next v_run;
    v_found := v_found + 1;
    exit when v_found = max_rows;
  end loop;
  if v_found < max_rows and v_looked_at = look_at then
    v_run.is_found := false;
    return next v_run;
  end if;
end $$;
comment on function starflow.list_runs(text, text, text, text[], text, uuid, uuid, timestamptz, timestamptz, timestamptz, uuid, integer, integer) is
  'Runs, the newest first; what is null is not filtered by. search (in lower case) is the beginning of an id, or part of flow slug or error. For the next page give created_at and id of the last row. Looks at look_at runs at most: then the last row may be one that is not found, where the next page begins.';

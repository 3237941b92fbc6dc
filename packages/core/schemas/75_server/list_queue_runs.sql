-- In the order of an index (of all runs, or of a workspace's), read backwards from where the last page ended, however many runs there are.
-- Planned for the filters at hand, and never to sort, which means to read all runs for one page. What no index tells is looked at run by run, and no further than look_at: of a page that ends there, the
-- last row is no run of the list (is_found is false), and the next page begins behind it.
create function starflow.list_queue_runs(
  workspace_id text default null, env text default null, flow_slug text default null, statuses text[] default null, search text default null,
  first_id uuid default null, last_id uuid default null, started_from timestamptz default null, started_before timestamptz default null,
  before_started_at timestamptz default null, before_id uuid default null, max_rows integer default 50, look_at integer default null)
returns setof starflow.queue_run
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set enable_sort = off set enable_incremental_sort = off
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set max_parallel_workers_per_gather = 0 set jit = off
as $$
#variable_conflict use_column
declare
  v_run starflow.queue_run;
  v_found integer := 0;
  v_looked_at integer := 0;
  -- Statuses that have an index of their own.
  v_is_indexed boolean := list_queue_runs.statuses <@ '{failed,cancelled}' or list_queue_runs.statuses = '{started}';
begin
  -- Ids are in no order of time; few begin alike, and are sorted. The setting ends with the function.
  if first_id is not null then
    perform set_config('enable_sort', 'on', true);
  end if;
  for v_run in
    select r.run_id, r.flow_slug, q.workspace_id, q.env, r.status, r.started_at, coalesce(r.completed_at, r.failed_at, r.cancelled_at), null, true
    from pgflow.runs r
    left join starflow.queue_runs q on q.run_id = r.run_id
    where (list_queue_runs.workspace_id is null or q.workspace_id = list_queue_runs.workspace_id)
      and (first_id is null or r.run_id between first_id and last_id)
      and (started_from is null or r.started_at >= started_from)
      and (started_before is null or r.started_at < started_before)
      and (before_id is null or (r.started_at, r.run_id) < (before_started_at, before_id))
      -- Once more for the index of a workspace, which then gives the order.
      and (list_queue_runs.workspace_id is null or started_from is null or q.started_at >= started_from)
      and (list_queue_runs.workspace_id is null or started_before is null or q.started_at < started_before)
      and (list_queue_runs.workspace_id is null or before_id is null or (q.started_at, q.run_id) < (before_started_at, before_id))
      and (not coalesce(v_is_indexed, false) or r.status = any (list_queue_runs.statuses))
    order by case when list_queue_runs.workspace_id is null then r.started_at else q.started_at end desc,
             case when list_queue_runs.workspace_id is null then r.run_id else q.run_id end desc
    limit look_at
  loop
    v_looked_at := v_looked_at + 1;
    continue when v_run.env is distinct from coalesce(list_queue_runs.env, v_run.env)
      or v_run.flow_slug <> list_queue_runs.flow_slug or v_run.status <> all (list_queue_runs.statuses);
    if v_run.status = 'failed' then
      v_run.error := (select s.error_message from pgflow.step_states s
                      where s.run_id = v_run.run_id and s.status = 'failed' order by s.failed_at limit 1);
    end if;
    continue when not coalesce(
      starts_with(v_run.run_id::text, search) or strpos(lower(v_run.flow_slug collate "C"), search) > 0 or strpos(lower(v_run.error), search) > 0, search is null);
    return next v_run;
    v_found := v_found + 1;
    exit when v_found = max_rows;
  end loop;
  if v_found < max_rows and v_looked_at = look_at then
    v_run.is_found := false;
    return next v_run;
  end if;
end $$;
comment on function starflow.list_queue_runs(text, text, text, text[], text, uuid, uuid, timestamptz, timestamptz, timestamptz, uuid, integer, integer) is
  'Runs in queue placement with whose they are, the newest first; what is null is not filtered by. search (in lower case) is the beginning of an id, or part of flow slug or error. For the next page give start and id of the last row. Looks at look_at runs at most: then the last row may be one that is not found, where the next page begins.';

-- Planned for the filters at hand, and always in the order of an index: to sort means to read all runs for one page.
create function starflow.list_runs(
  workspace_id text default null, env text default null, template_id text default null, status text default null,
  before_created_at timestamptz default null, before_id uuid default null, max_rows integer default 50)
returns setof starflow.workflow_runs
language plpgsql stable
set search_path = '' set plan_cache_mode = force_custom_plan set enable_sort = off set enable_incremental_sort = off
set enable_bitmapscan = off
as $$
begin
  return query
    select r.* from starflow.workflow_runs r
    where (list_runs.workspace_id is null or r.workspace_id = list_runs.workspace_id)
      and (list_runs.env is null or r.env = list_runs.env)
      and (list_runs.template_id is null or r.template_id = list_runs.template_id)
      and (list_runs.status is null or r.status = list_runs.status)
      and (before_created_at is null or (r.created_at, r.id) < (before_created_at, before_id))
    order by r.created_at desc, r.id desc
    limit max_rows;
end $$;
comment on function starflow.list_runs(text, text, text, text, timestamptz, uuid, integer) is
  'Runs, the newest first; what is null is not filtered by. For the next page give created_at and id of the last row.';

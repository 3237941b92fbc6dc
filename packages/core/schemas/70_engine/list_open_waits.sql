create function starflow.list_open_waits(workspace_id text default null, max_rows integer default 100)
returns setof starflow.workflow_waits
language plpgsql stable
set search_path = '' set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select w.* from starflow.workflow_waits w
    where w.status = 'open' and (list_open_waits.workspace_id is null or exists (
      select from starflow.workflow_runs r where r.id = w.run_id and r.workspace_id = list_open_waits.workspace_id))
    order by w.opened_at, w.run_id, w.node_id
    limit max_rows;
end $$;
comment on function starflow.list_open_waits(text, integer) is 'What somebody is waited for, oldest first. A run that has ended waits for nothing.';

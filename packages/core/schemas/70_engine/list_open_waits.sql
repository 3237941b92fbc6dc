create function starflow.list_open_waits(workspace_id text default null, max_rows integer default 100)
returns table (run_id uuid, node_id text, template_id text, opened_at timestamptz, due_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select w.run_id, w.node_id, r.template_id, w.opened_at, w.due_at
    from starflow.workflow_waits w
    join starflow.workflow_runs r on r.id = w.run_id
    where w.status = 'open' and (list_open_waits.workspace_id is null or r.workspace_id = list_open_waits.workspace_id)
    order by w.opened_at, w.run_id, w.node_id
    limit max_rows;
end $$;
comment on function starflow.list_open_waits(text, integer) is
  'What somebody is waited for, with the flow of its run, oldest first. A run that has ended waits for nothing.';

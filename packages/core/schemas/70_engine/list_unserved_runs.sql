create function starflow.list_unserved_runs(workspace_id text default null, max_rows integer default 100)
returns table (run_id uuid, template_id text, queued_at timestamptz, runner_pool text, reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select r.id, r.template_id, r.queued_at, r.runner_pool,
           case when not exists (select from starflow.workflow_runners w where w.live_until > pgflow.clock()) then 'no_runner'
                when not exists (
                  select from starflow.workflow_runners w
                  where w.live_until > pgflow.clock() and r.definition_id = any (w.definition_ids)) then 'other_definition'
                else 'other_pool' end
    from starflow.workflow_runs r
    where r.claim_state = 'queued' and r.available_at <= pgflow.clock()
      and (list_unserved_runs.workspace_id is null or r.workspace_id = list_unserved_runs.workspace_id)
      and not exists (
        select from starflow.workflow_runners w
        where w.live_until > pgflow.clock() and r.definition_id = any (w.definition_ids)
          and (r.runner_pool is null or r.runner_pool = w.runner_pool))
    order by r.queued_at, r.id
    limit max_rows;
end $$;
comment on function starflow.list_unserved_runs(text, integer) is
  'Queued runs that no live runner serves, oldest first, and why: no_runner, other_definition or other_pool.';

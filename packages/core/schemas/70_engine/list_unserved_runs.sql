-- A runner that drains has its leases and no ear for anything new.
create function starflow.list_unserved_runs(workspace_id text default null, max_rows integer default 100)
returns table (run_id uuid, template_id text, queued_at timestamptz, runner_pool text, reason text, detail text)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    with accepting as materialized (
      select w.runner_pool, w.definition_ids, w.refused_flows from starflow.workflow_runners w
      where w.live_until > pgflow.clock() and w.is_accepting
    ), unserved as (
      select r.id, r.template_id, r.queued_at, r.runner_pool, r.definition_id,
             (select a.refused_flows ->> r.template_id from accepting a where a.refused_flows ? r.template_id limit 1) as refusal
      from starflow.workflow_runs r
      where r.claim_state = 'queued' and r.available_at <= pgflow.clock()
        and (list_unserved_runs.workspace_id is null or r.workspace_id = list_unserved_runs.workspace_id)
        and not exists (
          select from accepting a
          where r.definition_id = any (a.definition_ids) and (r.runner_pool is null or r.runner_pool = a.runner_pool))
      order by r.queued_at, r.id
      limit max_rows
    )
    select u.id, u.template_id, u.queued_at, u.runner_pool,
           case when not exists (select from accepting) then 'no_runner'
                when exists (select from accepting a where u.definition_id = any (a.definition_ids)) then 'other_pool'
                when u.refusal is not null then 'refused'
                else 'other_definition' end,
           u.refusal
    from unserved u
    order by u.queued_at, u.id;
end $$;
comment on function starflow.list_unserved_runs(text, integer) is
  'Queued runs that no live runner serves, oldest first, and why: no_runner (none lives that takes new runs), refused (a runner has the flow and cannot execute it; detail says why), other_definition or other_pool.';

create function starflow.list_leases(workspace_id text default null, max_rows integer default 100)
returns setof starflow.listed_run
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select r.id, r.template_id, r.workspace_id, r.env, r.status, r.claim_state, r.error, r.definition_id, r.runner_pool, r.leased_by,
           r.lease_until, r.last_heartbeat, r.claim_attempts, r.created_at, r.queued_at, r.available_at, r.started_at, r.completed_at,
           r.cancelled_at, r.duration_ms, true
    from starflow.workflow_runs r
    where r.lease_until is not null and (list_leases.workspace_id is null or r.workspace_id = list_leases.workspace_id)
    order by r.lease_until, r.id
    limit max_rows;
end $$;
comment on function starflow.list_leases(text, integer) is 'Runs that a runner holds; the one whose lease is over first at the top.';

-- The promise "no open run without a next actor" over both placements. On runners: a paused run waits for an open wait, or for one that has
-- ended and will be swept; a claimed one is held by a lease, or is swept within 60 s.
create function starflow.audit_liveness(workspace_id text default null, max_rows integer default 100)
returns table (placement text, kind text, flow_slug text, run_id uuid, step_slug text, task_index integer, reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select 'queue', a.kind, a.flow_slug, a.run_id, a.step_slug, a.task_index, a.reason
    from pgflow.liveness_audit a left join starflow.queue_runs q on q.run_id = a.run_id
    where audit_liveness.workspace_id is null or q.workspace_id = audit_liveness.workspace_id
    union all
    select 'runner', 'run', r.template_id, r.id, null, null,
           case when r.claim_state = 'paused' then 'paused, but none of its waits is open'
                else 'held by nobody, and not found by a sweep: does a runner or a server run?' end
    from starflow.workflow_runs r
    where r.status in ('queued', 'running', 'paused') and (audit_liveness.workspace_id is null or r.workspace_id = audit_liveness.workspace_id)
      and ((r.claim_state = 'paused' and not exists (select from starflow.workflow_waits w where w.run_id = r.id and w.status = 'open'))
        or (r.claim_state in ('claimed', 'running') and coalesce(r.lease_until, r.claim_state_at + interval '30 seconds') < pgflow.clock() - interval '60 seconds'))
    limit max_rows;
end $$;
comment on function starflow.audit_liveness(text, integer) is
  'Every open run, step or task without a next actor, in both placements, with the reason; of one workspace, or all. Empty when all is well.';

create function starflow.list_runners()
returns table (runner_id text, runner_pool text, capacity integer, runs integer, last_heartbeat timestamptz, is_live boolean,
  is_accepting boolean, workspace_id text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    with held as (
      select r.leased_by, count(*)::integer as runs from starflow.workflow_runs r
      where r.lease_until is not null and r.claim_state in ('claimed', 'running') group by r.leased_by
    )
    select w.runner_id, w.runner_pool, w.capacity, coalesce(h.runs, 0), w.last_heartbeat, w.live_until > pgflow.clock(),
           w.is_accepting, w.workspace_id
    from starflow.workflow_runners w left join held h on h.leased_by = w.runner_id
    order by w.runner_id;
end $$;
comment on function starflow.list_runners() is 'Runners that were heard of within the last day, with the runs they hold.';

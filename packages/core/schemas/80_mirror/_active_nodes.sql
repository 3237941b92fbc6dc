-- The nodes of a run that have begun and not ended, read from its events: what _apply_event makes of them one by one.
create function starflow._active_nodes(p_run starflow.workflow_runs)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
  select case when starflow._has_ended(p_run.status) then '{}' else coalesce(jsonb_object_agg(n.node_id, n.activity), '{}') end
  from (
    select distinct on (e.node_id) e.node_id, e.id, e.event_type,
           jsonb_build_object('attempt', e.payload_json -> 'attempt', 'since', to_jsonb(e.created_at)) as activity
    from starflow.workflow_run_events e
    where e.run_id = p_run.id and e.node_id is not null
    order by e.node_id, e.id desc
  ) n
  where n.event_type = 'node_start'
    and n.id > coalesce((
      select max(c.id) from starflow.workflow_run_events c
      where c.run_id = p_run.id and c.event_type in ('runner_lost', 'run_released', 'run_retried')), 0)
$$;

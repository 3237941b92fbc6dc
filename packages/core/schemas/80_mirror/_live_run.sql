create function starflow._live_run(p_row starflow.warm_runs)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
return jsonb_build_object('run_id', p_row.run_id, 'run', p_row.run, 'active_nodes', p_row.active_nodes, 'progress', (
    select coalesce(jsonb_object_agg(p.node_id, jsonb_build_object('value', p.value, 'at', p.reported_at)), '{}')
    from starflow.warm_step_progress p where p.run_id = p_row.run_id and p_row.active_nodes ? p.node_id),
  'outbox_id', p_row.outbox_id::text, 'as_of', (select m.as_of from starflow.warm_watermark m));

create function starflow.warm_progress(run_id uuid, node_id text, value jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_value jsonb := coalesce(warm_progress.value, 'null');
  v_workspace_id text;
begin
  insert into starflow.warm_step_progress as p (run_id, node_id, value, reported_at)
  values (warm_progress.run_id, warm_progress.node_id, v_value, pgflow.clock())
  on conflict (run_id, node_id) do update set value = excluded.value, reported_at = excluded.reported_at;
  select w.workspace_id into v_workspace_id from starflow.warm_runs w where w.run_id = warm_progress.run_id and w.is_open;
  if found then
    perform starflow._broadcast_live(v_workspace_id, 'progress', jsonb_build_object(
      'run_id', warm_progress.run_id, 'node_id', warm_progress.node_id, 'value', v_value, 'at', pgflow.clock()));
  end if;
end $$;
comment on function starflow.warm_progress(uuid, text, jsonb) is
  'What a step says of itself. Only the warm tier has it, and shows it while the node is active.';

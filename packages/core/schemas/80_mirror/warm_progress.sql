create function starflow.warm_progress(run_id uuid, node_id text, value jsonb)
returns void
language plpgsql
set search_path = '' set timezone = 'UTC'
as $$
declare
  v_progress jsonb := jsonb_build_object('value', coalesce(warm_progress.value, 'null'), 'at', pgflow.clock());
  v_workspace_id text;
begin
  update starflow.warm_runs w set progress = w.progress || jsonb_build_object(warm_progress.node_id, v_progress)
  where w.run_id = warm_progress.run_id and w.is_open
  returning w.workspace_id into v_workspace_id;
  if v_workspace_id is not null then
    perform starflow._broadcast_live(v_workspace_id, 'progress',
      v_progress || jsonb_build_object('run_id', warm_progress.run_id, 'node_id', warm_progress.node_id));
  end if;
end $$;
comment on function starflow.warm_progress(uuid, text, jsonb) is
  'What a step says of itself. Only the warm tier has it, until the node ends; of a run that it does not know it is dropped.';

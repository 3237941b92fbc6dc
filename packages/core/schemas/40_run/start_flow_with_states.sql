create function pgflow.start_flow_with_states(flow_slug text, input jsonb, run_id uuid default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_id uuid := coalesce(start_flow_with_states.run_id, pgflow.new_run_id());
begin
  perform pgflow._watch_run(v_run_id);
  perform pgflow.start_flow(start_flow_with_states.flow_slug, start_flow_with_states.input, v_run_id);
  return pgflow.get_run_with_states(v_run_id);
end $$;
comment on function pgflow.start_flow_with_states(text, jsonb, uuid) is 'Starts a run and returns it with its steps, as get_run_with_states does.';

-- The caller holds the run.
create function starflow._append_event(p_run_id uuid, p_event_type text, p_node_id text, p_payload jsonb)
returns void
language plpgsql
as $$
begin
  insert into starflow.workflow_run_events (run_id, event_type, node_id, payload_json, created_at)
  values (p_run_id, p_event_type, p_node_id, p_payload, pgflow.clock());
end $$;

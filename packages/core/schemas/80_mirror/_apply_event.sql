create function starflow._apply_event(p_active_nodes jsonb, p_event jsonb)
returns jsonb
language sql immutable
return case
  when p_event ->> 'event_type' = 'node_start' then p_active_nodes || jsonb_build_object(
    p_event ->> 'node_id', jsonb_build_object('attempt', p_event -> 'payload_json' -> 'attempt', 'since', p_event -> 'created_at'))
  when p_event ->> 'node_id' is not null then p_active_nodes - (p_event ->> 'node_id')
  when p_event ->> 'event_type' in ('runner_lost', 'run_released', 'run_retried') then '{}'
  else p_active_nodes end;

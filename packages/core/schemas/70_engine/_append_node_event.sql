-- Appends an event of a node unless it is a repetition after a lost answer: the node's last event, of the same attempt, and
-- the run has not changed hands since. The caller holds the run.
create function starflow._append_node_event(p_run_id uuid, p_event_type text, p_node_id text, p_payload jsonb)
returns void
language plpgsql
as $$
declare
  v_last record;
begin
  select e.id, e.event_type, e.payload_json -> 'attempt' as attempt into v_last
  from starflow.workflow_run_events e
  where e.run_id = p_run_id and e.node_id = p_node_id
  order by e.run_id, e.node_id, e.id desc limit 1;
  if v_last.event_type = p_event_type and v_last.attempt is not distinct from p_payload -> 'attempt' and not exists (
    select from starflow.workflow_run_events e
    where e.run_id = p_run_id and e.id > v_last.id
      and e.event_type in ('runner_lost', 'run_released', 'run_resumed', 'run_retried'))
  then
    return;
  end if;
  perform starflow._append_event(p_run_id, p_event_type, p_node_id, p_payload);
end $$;

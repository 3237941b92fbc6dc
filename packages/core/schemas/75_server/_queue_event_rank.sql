-- Of what happened at one instant, what comes first.
create function starflow._queue_event_rank(p_event_type text)
returns integer
language sql immutable
return array_position(
  '{run_started,node_start,node_retry,node_complete,node_error,node_skip,run_completed,run_failed,run_cancelled}'::text[], p_event_type);

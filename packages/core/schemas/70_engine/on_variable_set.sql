create function starflow.on_variable_set(
  run_id uuid, key text, value jsonb, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value jsonb := coalesce(value, 'null');
  v_last jsonb;
begin
  perform starflow._lock_open_run(on_variable_set.run_id, on_variable_set.runner_id, on_variable_set.claim_attempts);
  select e.payload_json -> 'value' into v_last from starflow.workflow_run_events e
  where e.run_id = on_variable_set.run_id and e.event_type = 'variable' and e.payload_json ->> 'key' = on_variable_set.key
  order by e.run_id, e.payload_json ->> 'key', e.id desc limit 1;
  if v_last is distinct from v_value then
    perform starflow._append_event(on_variable_set.run_id, 'variable', null, jsonb_build_object('key', on_variable_set.key, 'value', v_value));
  end if;
end $$;
comment on function starflow.on_variable_set(uuid, text, jsonb, text, integer) is
  'A variable of the flow''s author: variable { key, value }, unless it has that value already.';

create function starflow.settle_alert_message(message_id uuid, attempt integer, outcome text default null, retry_ms bigint default null)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update starflow.alert_messages m set
    outcome = settle_alert_message.outcome,
    settled_at = case when settle_alert_message.outcome is not null then pgflow.clock() end,
    next_attempt_at = case when settle_alert_message.outcome is null then pgflow.clock() + starflow._milliseconds(retry_ms) end
  where m.message_id = settle_alert_message.message_id and m.attempts = settle_alert_message.attempt and m.settled_at is null;
  return found;
end $$;
comment on function starflow.settle_alert_message(uuid, integer, text, bigint) is
  'What became of an attempt to send a message: sent or given_up, or null and when to try again. False for an attempt that is not the last one.';

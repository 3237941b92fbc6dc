-- For lease_ms they are the caller's; when it ends without a word, another one takes them.
create function starflow.take_alert_messages(webhooks text[], lease_ms bigint)
returns table (message_id uuid, webhook text, problems jsonb, created_at timestamptz, attempt integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    update starflow.alert_messages m set attempts = m.attempts + 1, next_attempt_at = pgflow.clock() + starflow._milliseconds(lease_ms)
    from (
      select o.message_id from starflow.alert_messages o
      where o.settled_at is null and o.next_attempt_at <= pgflow.clock() and o.webhook = any (webhooks)
      order by o.created_at limit 20
      for update skip locked
    ) due
    where m.message_id = due.message_id
    returning m.message_id, m.webhook, m.problems, m.created_at, m.attempts;
end $$;
comment on function starflow.take_alert_messages(text[], bigint) is 'Messages of alerts that are due, to be sent by the caller alone; attempt goes with their settlement.';

-- One broadcast. 250 000 bytes: Supabase's Realtime takes 256 KB on its smallest plan, envelope included.
create function pgflow._send_event(p_run_id uuid, p_event text, p_payload jsonb)
returns void
language plpgsql
as $$
begin
  if octet_length(p_payload::text) > 250000 then
    p_payload := (p_payload - 'output' - 'input')
      || jsonb_build_object('omitted', (
           select coalesce(jsonb_agg(k), '[]') from jsonb_object_keys(p_payload) k where k in ('output', 'input')))
      || case when p_payload ? 'error_message'
              then jsonb_build_object('error_message', left(p_payload ->> 'error_message', 10000)) else '{}' end;
  end if;
  perform realtime.send(p_payload, p_event, 'pgflow:run:' || p_run_id, pgflow._setting('events_channel') = 'private');
end $$;

create function starflow._mirror_event()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if starflow._is_mirrored() then
    insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
    values (new.run_id, 'event',
            to_jsonb(new) || jsonb_build_object('id', new.id::text, 'payload_json', new.payload_json - '{input,output}'::text[]),
            pgflow.clock());
  end if;
  return null;
end $$;
create trigger mirror_event after insert on starflow.workflow_run_events for each row execute function starflow._mirror_event();

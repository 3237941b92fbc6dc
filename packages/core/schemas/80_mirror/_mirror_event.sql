create function starflow._mirror_event()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if starflow._is_mirrored() then
    insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
    values (new.run_id, 'event', starflow._mirrored_event(new), pgflow.clock());
  end if;
  return null;
end $$;
create trigger mirror_event after insert on starflow.workflow_run_events for each row execute function starflow._mirror_event();

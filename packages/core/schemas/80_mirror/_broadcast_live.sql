-- So that every process sees what one of them has brought. A hint: without Realtime, or when it fails, who watches asks again.
create function starflow._broadcast_live(p_workspace_id text, p_event text, p_payload jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform realtime.send(p_payload, p_event, 'starflow:workspace:' || p_workspace_id, true);
exception when others then
  raise warning 'The live state of a run was not broadcast: %', sqlerrm;
end $$;

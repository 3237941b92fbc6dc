-- An event of a run outside an advance.
create function pgflow._send_run_event(p_run pgflow.runs, p_event text, p_payload jsonb)
returns void
language plpgsql
as $$
declare
  v_mode text := pgflow._setting('events');
begin
  if v_mode = 'all' or (v_mode = 'watched' and exists (
       select from pgflow.watched_runs w where w.run_id = p_run.run_id and w.watched_until > pgflow.clock())) then
    perform pgflow._send_event(p_run.run_id, p_event, p_payload || jsonb_build_object(
      'event_type', p_event, 'run_id', p_run.run_id, 'status', p_run.status, 'flow_slug', p_run.flow_slug));
  end if;
exception when others then
  raise warning 'An event of run % could not be sent: %', p_run.run_id, sqlerrm;
end $$;

create function pgflow.get_run_with_states(run_id uuid)
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run pgflow.runs;
begin
  select * into v_run from pgflow.runs r where r.run_id = get_run_with_states.run_id;
  if v_run.run_id is null or not pgflow._may_see(v_run.owner) then
    return null;
  end if;
  perform pgflow._watch_run(v_run.run_id);
  -- Read after the watch is written: what changes from here on is sent.
  return (
    select jsonb_build_object(
      'run', to_jsonb(r),
      'steps', coalesce((select jsonb_agg(to_jsonb(s) order by st.step_index)
                         from pgflow.step_states s join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
                         where s.run_id = r.run_id), '[]'),
      -- A private channel does not hear public messages, nor the other way round: who listens has to know.
      'events', case pgflow._setting('events') when 'off' then 'off' else pgflow._setting('events_channel') end)
    from pgflow.runs r where r.run_id = v_run.run_id);
end $$;
comment on function pgflow.get_run_with_states(uuid) is
  'The run, its steps, and how its events are sent (private, public or off): {run, steps[], events}; null where there is none that the caller may see. Its events are sent for the next 5 minutes.';

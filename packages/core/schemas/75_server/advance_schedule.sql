create function starflow.advance_schedule(workspace_id text, trigger_name text, fired_until timestamptz)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  update starflow.trigger_schedules s set fired_until = advance_schedule.fired_until
  where s.workspace_id = advance_schedule.workspace_id and s.trigger_name = advance_schedule.trigger_name
    and s.fired_until < advance_schedule.fired_until
$$;
comment on function starflow.advance_schedule(text, text, timestamptz) is
  'Whatever a schedule had up to this instant has fired, or never will. It never goes back.';

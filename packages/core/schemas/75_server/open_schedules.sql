-- A read, but for schedules that are new.
create function starflow.open_schedules(workspace_id text, trigger_names text[])
returns table (trigger_name text, fired_until timestamptz, clock timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into starflow.trigger_schedules as s (workspace_id, trigger_name, fired_until)
  select open_schedules.workspace_id, n.name, pgflow.clock()
  from unnest(open_schedules.trigger_names) n (name)
  where not exists (
    select from starflow.trigger_schedules k where k.workspace_id = open_schedules.workspace_id and k.trigger_name = n.name)
  on conflict do nothing;
  return query
    select s.trigger_name, s.fired_until, pgflow.clock()
    from starflow.trigger_schedules s
    where s.workspace_id = open_schedules.workspace_id and s.trigger_name = any (open_schedules.trigger_names);
end $$;
comment on function starflow.open_schedules(text, text[]) is
  'Until which instant these schedules have fired, and what time it is. One that was never seen has fired until now.';

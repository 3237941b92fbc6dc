-- A process that was asleep must not fire what others have fired and forgotten: nothing is recorded up to fired_until.
create function starflow.record_instant(
  workspace_id text, trigger_name text, scheduled_at timestamptz, occurrence text, start jsonb, status text default 'recorded')
returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  with recorded as (
    insert into starflow.trigger_firings as f (
      workspace_id, kind, trigger_name, occurrence, scheduled_at, start, status, recorded_at, settled_at)
    select s.workspace_id, 'schedule', s.trigger_name, record_instant.occurrence, record_instant.scheduled_at, record_instant.start,
           record_instant.status, pgflow.clock(), case when record_instant.status <> 'recorded' then pgflow.clock() end
    from starflow.trigger_schedules s
    where s.workspace_id = record_instant.workspace_id and s.trigger_name = record_instant.trigger_name
      and s.fired_until < record_instant.scheduled_at
    on conflict do nothing
    returning f.occurrence
  )
  select exists (select from recorded)
$$;
comment on function starflow.record_instant(text, text, timestamptz, text, jsonb, text) is
  'Records that a schedule fires for an instant. True for the one call that did so, which then starts the run.';

-- Whatever key or role comes: what happened has happened. Events go with their run, or when old runs are pruned.
create function starflow._keep_events()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' or (pg_trigger_depth() = 1 and coalesce(current_setting('starflow.prunes', true), '') <> 'on') then
    perform pgflow._raise('SF804', 'Events of runs are not changed.', 'They are append-only: a run is read from what happened to it.',
      'Add what happened through the functions of the schema starflow. Old runs go with their events: npx starflow prune');
  end if;
  return null;
end $$;
create trigger keep_events before update or delete on starflow.workflow_run_events for each statement execute function starflow._keep_events();

create function starflow.last_firing(workspace_id text, trigger_name text)
returns setof starflow.trigger_firings
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.* from starflow.trigger_firings f
  where f.workspace_id = last_firing.workspace_id and f.kind = 'schedule' and f.trigger_name = last_firing.trigger_name
    and f.status in ('recorded', 'started')
  order by f.scheduled_at desc limit 1
$$;
comment on function starflow.last_firing(text, text) is 'The latest firing of a schedule that has started a run, or is about to.';

create function starflow.unstarted_firings(workspace_id text, older_than_ms bigint, max_rows integer default 100)
returns setof starflow.trigger_firings
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.* from starflow.trigger_firings f
  where f.workspace_id = unstarted_firings.workspace_id and f.status = 'recorded'
    and f.recorded_at <= pgflow.clock() - starflow._milliseconds(older_than_ms)
  order by f.recorded_at, f.scheduled_at limit max_rows
$$;
comment on function starflow.unstarted_firings(text, bigint, integer) is
  'Firings that were recorded this long ago and have not started their run, the oldest first: whoever recorded them is gone, or could not.';

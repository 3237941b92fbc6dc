create function starflow.warm_peers(workspace_id text default null, max_rows integer default 50)
returns setof jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select starflow._live_run(w) from starflow.warm_runs w
    where w.is_open and w.run ->> 'claim_state' <> 'queued'
      and (warm_peers.workspace_id is null or w.workspace_id = warm_peers.workspace_id)
    order by w.changed_at desc
    limit max_rows;
end $$;
comment on function starflow.warm_peers(text, integer) is
  'What the runs of a workspace, or of all, are doing now: those that are held or paused, the last changed first.';

create function starflow._broadcast_runs(p_run_ids uuid[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._broadcast_live(w.workspace_id, 'run', starflow._live_run(w))
  from starflow.warm_runs w where w.run_id = any (p_run_ids) order by w.run_id;
end $$;

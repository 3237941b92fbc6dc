create function starflow.warm_read(run_ids uuid[])
returns setof jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select starflow._live_run(w) from starflow.warm_runs w where w.run_id = any (warm_read.run_ids);
end $$;
comment on function starflow.warm_read(uuid[]) is 'Runs as the warm tier has them, with up to when it knows everything.';

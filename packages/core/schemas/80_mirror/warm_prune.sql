create function starflow.warm_prune(older_than_ms bigint default 3600000)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pruned integer;
begin
  delete from starflow.warm_runs w where not w.is_open and w.changed_at < pgflow.clock() - starflow._milliseconds(older_than_ms);
  get diagnostics v_pruned = row_count;
  delete from starflow.warm_step_progress p
  where p.reported_at < pgflow.clock() - starflow._milliseconds(older_than_ms)
    and not exists (select from starflow.warm_runs w where w.run_id = p.run_id and w.is_open);
  return v_pruned;
end $$;
comment on function starflow.warm_prune(bigint) is 'The warm tier forgets runs that ended, and what steps of none said, longer ago than this, an hour unless it says otherwise.';

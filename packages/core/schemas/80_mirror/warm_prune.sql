create function starflow.warm_prune(older_than_ms bigint default 3600000)
returns integer
language plpgsql
set search_path = ''
as $$
declare
  v_pruned integer;
begin
  delete from starflow.warm_runs w where not w.is_open and w.changed_at < pgflow.clock() - starflow._milliseconds(older_than_ms);
  get diagnostics v_pruned = row_count;
  return v_pruned;
end $$;
comment on function starflow.warm_prune(bigint) is 'The warm tier forgets runs that ended longer ago than this, an hour unless it says otherwise.';

create function starflow.read_waits(run_id uuid)
returns setof starflow.workflow_waits
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select w.* from starflow.workflow_waits w where w.run_id = read_waits.run_id order by w.created_at, w.node_id;
end $$;
comment on function starflow.read_waits(uuid) is 'All waits of a run.';

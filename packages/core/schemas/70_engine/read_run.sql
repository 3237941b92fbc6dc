create function starflow.read_run(run_id uuid)
returns setof starflow.workflow_runs
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select r.* from starflow.workflow_runs r where r.id = read_run.run_id;
end $$;
comment on function starflow.read_run(uuid) is 'The run, or no row.';

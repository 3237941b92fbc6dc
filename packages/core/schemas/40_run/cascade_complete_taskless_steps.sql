create function pgflow.cascade_complete_taskless_steps(run_id uuid)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return 0;
end $$;
comment on function pgflow.cascade_complete_taskless_steps(uuid) is 'Kept for existing scripts; returns 0, since maps over nothing complete in the transaction that makes them ready.';

create function pgflow.start_ready_steps(run_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A step starts in the transaction that made it ready.
end $$;
comment on function pgflow.start_ready_steps(uuid) is 'Kept for existing scripts; does nothing, since a step starts in the transaction that makes it ready.';

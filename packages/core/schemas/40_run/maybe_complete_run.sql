create function pgflow.maybe_complete_run(run_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A run completes in the transaction that ends its last step.
end $$;
comment on function pgflow.maybe_complete_run(uuid) is 'Kept for existing scripts; does nothing, since a run completes in the transaction that ends its last step.';

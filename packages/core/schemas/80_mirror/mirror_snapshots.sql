create function starflow.mirror_snapshots(run_ids uuid[])
returns table (run_id uuid, run jsonb, active_nodes jsonb, is_pending boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select r.id, starflow._mirrored_run(r), starflow._active_nodes(r),
           exists (select from starflow.mirror_outbox o where o.run_id = r.id and o.applied_at is null)
    from starflow.workflow_runs r
    where r.id = any (mirror_snapshots.run_ids);
end $$;
comment on function starflow.mirror_snapshots(uuid[]) is
  'Runs as the warm tier should have them, and whether rows of the outbox are on their way there. What does not exist is left out.';

-- As prune_data_older_than: in the order of ids, which is that of locks where many runs are locked at once (70_engine/README.md), and
-- without what somebody holds. A run keeps its lease until its runner has said all of its end: until then it is left.
create function starflow.prune_runs(retention_interval interval, max_runs integer default 10000, dry_run boolean default false)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cutoff timestamptz := pgflow.clock() - prune_runs.retention_interval;
  v_run_ids uuid[];
begin
  perform pgflow._check_retention(prune_runs.retention_interval, prune_runs.max_runs);
  if prune_runs.dry_run then
    return (select count(*) from starflow.workflow_runs r
            where starflow._has_ended(r.status) and coalesce(r.completed_at, r.cancelled_at) < v_cutoff and r.lease_until is null);
  end if;
  v_run_ids := array(
    select r.id from starflow.workflow_runs r
    where starflow._has_ended(r.status) and coalesce(r.completed_at, r.cancelled_at) < v_cutoff and r.lease_until is null
    order by r.id
    limit prune_runs.max_runs
    for update skip locked);
  delete from starflow.workflow_waits w where w.run_id = any (v_run_ids);
  delete from starflow.worker_jobs j where j.run_id = any (v_run_ids);
  perform set_config('starflow.prunes', 'on', true);
  delete from starflow.workflow_run_events e where e.run_id = any (v_run_ids);
  perform set_config('starflow.prunes', '', true);
  -- What a session keeps beyond its run (keep_until) stays, without its name.
  delete from starflow.workflow_runs r where r.id = any (v_run_ids);
  return cardinality(v_run_ids);
end $$;
comment on function starflow.prune_runs(interval, integer, boolean) is
  'Deletes runs on runners that ended longer ago than this, at most max_runs of them, with their events, waits and worker jobs. Returns how many went; with dry_run how many would, whatever their number, and deletes nothing. prune_data_older_than calls it.';

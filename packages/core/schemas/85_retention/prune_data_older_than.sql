-- Runs are taken in the order of their ids, which is that of their starts and that of locks (40_run/README.md). One that somebody
-- holds, to retry it say, is left for the next call. The rest goes from the leaves up, as the foreign keys want it. Messages of ended
-- tasks stand in the archives of their queues; nothing reads them there, so that they go by their age. Runs on runners come last: no
-- other call locks rows of both placements in one transaction.
create function pgflow.prune_data_older_than(retention_interval interval, max_runs integer default 10000, dry_run boolean default false)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cutoff timestamptz := pgflow.clock() - prune_data_older_than.retention_interval;
  v_run_ids uuid[];
  v_queue text;
begin
  perform pgflow._check_retention(prune_data_older_than.retention_interval, prune_data_older_than.max_runs);
  if prune_data_older_than.dry_run then
    return (select count(*) from pgflow.runs r
            where r.status in ('completed', 'failed', 'cancelled') and coalesce(r.completed_at, r.failed_at, r.cancelled_at) < v_cutoff)
           + starflow.prune_runs(prune_data_older_than.retention_interval, dry_run => true);
  end if;
  v_run_ids := array(
    select r.run_id from pgflow.runs r
    where r.status in ('completed', 'failed', 'cancelled') and coalesce(r.completed_at, r.failed_at, r.cancelled_at) < v_cutoff
    order by r.run_id
    limit prune_data_older_than.max_runs
    for update skip locked);
  delete from pgflow.step_tasks t where t.run_id = any (v_run_ids);
  delete from pgflow.step_states s where s.run_id = any (v_run_ids);
  delete from pgflow.runs r where r.run_id = any (v_run_ids);
  for v_queue in
    select distinct q.name from pgflow.flows f cross join lateral unnest(pgflow._flow_queues(f.flow_slug)) q (name)
    where to_regclass(format('pgmq.%I', 'a_' || q.name)) is not null
    order by q.name
  loop
    begin
      execute format('delete from pgmq.%I where archived_at < $1', 'a_' || v_queue) using v_cutoff;
    exception when undefined_table then
      -- Its flow was deleted while this waited for it, and its archive with it.
      continue;
    end;
  end loop;
  return cardinality(v_run_ids) + starflow.prune_runs(prune_data_older_than.retention_interval, prune_data_older_than.max_runs);
end $$;
comment on function pgflow.prune_data_older_than(interval, integer, boolean) is 'Deletes runs that ended longer ago than this, in either placement, at most max_runs of each: those on step queues with their steps, tasks and attempts, and archived messages of flows of that age; those on runners as starflow.prune_runs does. Returns how many runs went; with dry_run how many would, whatever their number, and deletes nothing. There is no way back.';

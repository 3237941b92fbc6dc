create function starflow.prune_outbox(older_than_ms bigint default 3600000, max_rows integer default 10000)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  v_pruned integer;
begin
  delete from starflow.mirror_outbox o
  where o.id in (
    select a.id from starflow.mirror_outbox a
    where a.applied_at < pgflow.clock() - starflow._milliseconds(older_than_ms)
      and (a.refused_because is null or a.applied_at < pgflow.clock() - interval '7 days')
    order by a.applied_at limit max_rows
    for update skip locked);
  get diagnostics v_pruned = row_count;
  return v_pruned;
end $$;
comment on function starflow.prune_outbox(bigint, integer) is
  'Deletes rows of the outbox that were applied longer ago than this, an hour unless it says otherwise, and returns how many. What was set aside is kept for a week.';

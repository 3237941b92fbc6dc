-- The oldest row of each run is the lock on the run's others: who has it has them all, in their order, until its transaction ends. What
-- another drainer has locked is skipped; what it has applied meanwhile is seen to be applied when the lock is tried.
create function starflow.take_outbox(max_runs integer default 50, max_rows integer default 500)
returns setof starflow.mirror_outbox
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  v_runs uuid[];
  v_has_runless boolean;
begin
  with heads as (
    select o.id, o.run_id from starflow.mirror_outbox o
    where o.applied_at is null
      and case when o.run_id is null
            then not exists (select from starflow.mirror_outbox e where e.run_id is null and e.applied_at is null and e.id < o.id)
            else not exists (select from starflow.mirror_outbox e where e.run_id = o.run_id and e.applied_at is null and e.id < o.id) end
    order by o.id
    limit max_runs
    for update skip locked
  )
  select array_agg(h.run_id) filter (where h.run_id is not null), coalesce(bool_or(h.run_id is null), false)
  into v_runs, v_has_runless from heads h;

  return query
    select o.* from starflow.mirror_outbox o
    where o.applied_at is null and (o.run_id = any (v_runs) or (v_has_runless and o.run_id is null))
    order by o.id
    limit max_rows;
end $$;
comment on function starflow.take_outbox(integer, integer) is
  'Rows that are not applied yet, of runs that no other transaction drains: the caller''s until its transaction ends. It applies them in the order of their ids and calls mark_outbox_applied.';

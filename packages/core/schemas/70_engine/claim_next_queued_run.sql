-- Candidates are read without a lock, the oldest of either pool, and then one is taken: the first that nobody else locks. Two
-- index scans that end after a few rows each, because a single one over "my pool or nobody's" would sort the whole queue.
-- 32 of each: more than claims that meet at the same moment, since each holds its run for the rest of its transaction only.
-- The row is found again by its id and by what its claim_state was when it was read: for a constant 'queued' the plan would read
-- the whole queue by its index. The settings keep a plan that was made while the table was empty from reading it whole later.
create function starflow.claim_next_queued_run(
  runner_id text, lease_ttl_ms bigint, definition_ids uuid[], runner_pool text default null)
returns setof starflow.workflow_runs
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query
    with candidates as materialized (
      (select r.id, r.claim_state, r.queued_at from starflow.workflow_runs r
       where r.claim_state = 'queued' and r.runner_pool is null
         and r.available_at <= pgflow.clock() and r.definition_id = any (claim_next_queued_run.definition_ids)
       order by r.runner_pool, r.queued_at limit 32)
      union all
      (select r.id, r.claim_state, r.queued_at from starflow.workflow_runs r
       where r.claim_state = 'queued' and r.runner_pool = claim_next_queued_run.runner_pool
         and r.available_at <= pgflow.clock() and r.definition_id = any (claim_next_queued_run.definition_ids)
       order by r.runner_pool, r.queued_at limit 32)
    ), taken as materialized (
      select r.id, r.claim_state from candidates c join starflow.workflow_runs r on r.id = c.id and r.claim_state = c.claim_state
      order by c.queued_at limit 1
      for no key update of r skip locked
    )
    update starflow.workflow_runs r set
      claim_state = 'claimed', claim_state_at = pgflow.clock(), leased_by = claim_next_queued_run.runner_id,
      lease_until = pgflow.clock() + starflow._milliseconds(lease_ttl_ms), last_heartbeat = pgflow.clock(),
      claim_attempts = r.claim_attempts + 1
    from taken t
    where r.id = t.id and r.claim_state = t.claim_state
    returning r.*;
  if found then
    perform nextval('starflow.counted_claims');
  end if;
end $$;
comment on function starflow.claim_next_queued_run(text, bigint, uuid[], text) is
  'Takes the oldest run that is due, of these definitions, and of this pool or nobody''s. One row, or none.';

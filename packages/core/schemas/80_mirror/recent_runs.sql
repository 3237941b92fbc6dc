-- Each part is a range of one index: the table of runs is never scanned, however many have ended.
create function starflow.recent_runs(since_ms bigint)
returns setof uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query
    select r.id from starflow.workflow_runs r where r.claim_state = 'queued'
    union select r.id from starflow.workflow_runs r where r.lease_until is not null
    union select r.id from starflow.workflow_runs r where r.lease_until is null and r.claim_state = 'running'
    union select w.run_id from starflow.workflow_waits w where w.status = 'open'
    union select o.run_id from starflow.mirror_outbox o
          where o.applied_at > pgflow.clock() - starflow._milliseconds(since_ms) and o.run_id is not null;
end $$;
comment on function starflow.recent_runs(bigint) is
  'Runs of the cold tier that the warm one may have wrong: those that are open, and those whose changes were applied within since_ms.';

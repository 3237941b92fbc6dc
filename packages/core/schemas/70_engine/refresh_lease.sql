create function starflow.refresh_lease(run_id uuid, ttl_ms bigint, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = ''
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(refresh_lease.run_id);
begin
  perform starflow._check_claim(v_run, refresh_lease.runner_id, refresh_lease.claim_attempts);
  update starflow.workflow_runs r set lease_until = pgflow.clock() + starflow._milliseconds(ttl_ms), last_heartbeat = pgflow.clock()
  where r.id = refresh_lease.run_id and r.leased_by is not null;
end $$;
comment on function starflow.refresh_lease(uuid, bigint, text, integer) is 'Extends one lease from now. A runner extends all of its leases with heartbeat.';

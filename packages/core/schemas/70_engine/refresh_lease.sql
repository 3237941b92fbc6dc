create function starflow.refresh_lease(run_id uuid, ttl_ms bigint, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(refresh_lease.run_id);
begin
  perform starflow._check_claim(v_run, refresh_lease.runner_id, refresh_lease.claim_attempts);
  if v_run.leased_by is null then
    perform pgflow._raise('SF801', format('Run %s has no lease to refresh.', v_run.id),
      format('It is %s (%s), and nobody holds it.', v_run.status, v_run.claim_state), 'Write the lease first.');
  end if;
  update starflow.workflow_runs r set lease_until = pgflow.clock() + starflow._milliseconds(ttl_ms), last_heartbeat = pgflow.clock()
  where r.id = refresh_lease.run_id;
end $$;
comment on function starflow.refresh_lease(uuid, bigint, text, integer) is 'Extends one lease from now. A runner extends all of its leases with heartbeat.';

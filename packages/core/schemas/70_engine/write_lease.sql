create function starflow.write_lease(run_id uuid, runner_id text, ttl_ms bigint, claim_attempts integer default null)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(write_lease.run_id);
  v_attempts integer;
begin
  if write_lease.claim_attempts is not null then
    perform starflow._check_claim(v_run, write_lease.runner_id, write_lease.claim_attempts);
  elsif v_run.leased_by is distinct from write_lease.runner_id then
    perform starflow._check_claim(v_run, null, null);
  end if;
  perform starflow._refuse_end(v_run);
  update starflow.workflow_runs r set
    -- A run out of the queue is claimed until on_run_start.
    claim_state = case when r.claim_state in ('queued', 'claimed') then 'claimed' else 'running' end,
    claim_state_at = case when r.claim_state in ('claimed', 'running') then r.claim_state_at else pgflow.clock() end,
    claim_attempts = r.claim_attempts + (r.leased_by is null)::integer,
    leased_by = write_lease.runner_id, lease_until = pgflow.clock() + starflow._milliseconds(ttl_ms), last_heartbeat = pgflow.clock()
  where r.id = write_lease.run_id
  returning r.claim_attempts into v_attempts;
  return v_attempts;
end $$;
comment on function starflow.write_lease(uuid, text, bigint, integer) is
  'Gives a run that nobody holds its lease, outside the queue. Returns the claim_attempts that, with the runner, fence it from now on; again for the same runner: the same.';

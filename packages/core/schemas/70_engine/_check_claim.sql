-- The fence. With a runner and claim, that claim must be the run's current one; without, nobody may hold the run. That a lease
-- is over ends no claim: only the sweep does, or whoever cancels the run.
create function starflow._check_claim(p_run starflow.workflow_runs, p_runner_id text, p_claim_attempts integer)
returns void
language plpgsql
as $$
begin
  if p_runner_id is null then
    if p_run.leased_by is not null then
      perform pgflow._raise('SF801', format('Run %s is held by runner "%s".', p_run.id, p_run.leased_by),
        format('Its claim is %s, until %s or longer. This write came without a claim.', p_run.claim_attempts, p_run.lease_until),
        'Write with that claim, or wait until the run is given up.');
    end if;
  elsif p_run.leased_by is distinct from p_runner_id or p_run.claim_attempts is distinct from p_claim_attempts then
    perform pgflow._raise('SF801', format('Runner "%s" no longer holds run %s.', p_runner_id, p_run.id),
      format('It came with claim %s. The run is %s (%s), its claim %s, held by %s.', coalesce(p_claim_attempts::text, 'null'), p_run.status,
             p_run.claim_state, p_run.claim_attempts, coalesce('"' || p_run.leased_by || '"', 'nobody')),
      'Stop executing the run. Whoever holds it goes on with it.');
  end if;
end $$;

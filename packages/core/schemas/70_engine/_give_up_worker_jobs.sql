-- What a worker was not heard of again goes back to the queue; after three of these it fails, so that a job which kills its workers does
-- not go on for ever. Of runs that have ended nothing is given out any longer.
create function starflow._give_up_worker_jobs(p_kinds text[])
returns void
language plpgsql
as $$
begin
  with lost as (
    select j.id from starflow.worker_jobs j
    where j.lease_until < pgflow.clock() order by j.lease_until limit 100 for update skip locked
  )
  update starflow.worker_jobs j
  set status = case when j.lost_leases >= 2 then 'failed' else 'queued' end,
      completed_at = case when j.lost_leases >= 2 then pgflow.clock() end,
      error = 'worker_lost', lost_leases = j.lost_leases + 1, leased_by = null, lease_until = null
  from lost where j.id = lost.id;

  with pointless as (
    select j.id from starflow.worker_jobs j join starflow.workflow_runs r on r.id = j.run_id
    where j.status = 'queued' and j.kind = any (p_kinds) and starflow._has_ended(r.status)
    order by j.created_at limit 100 for update of j skip locked
  )
  update starflow.worker_jobs j set status = 'cancelled', error = null, completed_at = pgflow.clock()
  from pointless where j.id = pointless.id;
end $$;

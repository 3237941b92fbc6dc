create function starflow.claim_worker_job(worker_id text, kinds text[], lease_ms bigint, workspace_id text default null)
returns table (job_id uuid, run_id uuid, node_id text, kind text, payload jsonb, attempt integer, lease_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._give_up_worker_jobs(kinds);
  return query
    update starflow.worker_jobs j
    set status = 'leased', leased_by = claim_worker_job.worker_id, attempt = j.attempt + 1,
        lease_until = pgflow.clock() + starflow._milliseconds(lease_ms)
    where j.id = (
      select q.id from starflow.worker_jobs q join starflow.workflow_runs r on r.id = q.run_id
      where q.status = 'queued' and q.kind = any (kinds) and not starflow._has_ended(r.status)
        and (claim_worker_job.workspace_id is null or r.workspace_id = claim_worker_job.workspace_id)
      order by q.created_at, q.id limit 1
      for update of q skip locked)
    returning j.id, j.run_id, j.node_id, j.kind, j.payload, j.attempt, j.lease_until;
end $$;
comment on function starflow.claim_worker_job(text, text[], bigint, text) is
  'An external worker takes the oldest job of these kinds, of one workspace or any, or nothing. It is its own until the lease is over; attempt fences its report.';

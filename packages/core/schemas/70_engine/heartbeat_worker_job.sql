create function starflow.heartbeat_worker_job(
  job_id uuid, worker_id text, attempt integer, lease_ms bigint, workspace_id text default null)
returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job starflow.worker_jobs := starflow._lock_job(job_id, heartbeat_worker_job.workspace_id);
  v_lease_until timestamptz := pgflow.clock() + starflow._milliseconds(lease_ms);
begin
  perform starflow._check_lease(v_job, worker_id, heartbeat_worker_job.attempt);
  update starflow.worker_jobs j set lease_until = v_lease_until where j.id = job_id;
  return v_lease_until;
end $$;
comment on function starflow.heartbeat_worker_job(uuid, text, integer, bigint, text) is
  'The worker is still at it: its lease lasts from now. Refused when the job is no longer its own, or nobody waits for it: then it stops.';

create function starflow.cancel_worker_job(job_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update starflow.worker_jobs j
  set status = 'cancelled', leased_by = null, lease_until = null, error = null, completed_at = pgflow.clock()
  where j.id = job_id and j.status in ('queued', 'leased');
end $$;
comment on function starflow.cancel_worker_job(uuid) is
  'Nobody waits for the job any longer: it is not given out, and its worker is told with its next heartbeat. Of a job that has ended: no effect.';

create function starflow.fail_worker_job(
  job_id uuid, worker_id text, attempt integer, error text, is_permanent boolean default false, workspace_id text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job starflow.worker_jobs := starflow._lock_job(job_id, fail_worker_job.workspace_id);
begin
  if v_job.status = 'failed' and v_job.attempt = fail_worker_job.attempt then return; end if;
  perform starflow._check_lease(v_job, worker_id, fail_worker_job.attempt);
  update starflow.worker_jobs j
  set status = 'failed', error = fail_worker_job.error, is_permanent = fail_worker_job.is_permanent, leased_by = null, lease_until = null,
      completed_at = pgflow.clock()
  where j.id = job_id;
end $$;
comment on function starflow.fail_worker_job(uuid, text, integer, text, boolean, text) is
  'The job could not be done: the attempt of its step fails, and the step''s retries decide what follows; with is_permanent there are none.';

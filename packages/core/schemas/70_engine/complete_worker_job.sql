create function starflow.complete_worker_job(
  job_id uuid, worker_id text, attempt integer, result jsonb, workspace_id text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job starflow.worker_jobs := starflow._lock_job(job_id, complete_worker_job.workspace_id);
begin
  -- The answer to the first report was lost.
  if v_job.status = 'completed' and v_job.attempt = complete_worker_job.attempt then return; end if;
  perform starflow._check_lease(v_job, worker_id, complete_worker_job.attempt);
  update starflow.worker_jobs j
  set status = 'completed', result = coalesce(complete_worker_job.result, 'null'), error = null, leased_by = null, lease_until = null,
      completed_at = pgflow.clock()
  where j.id = job_id;
end $$;
comment on function starflow.complete_worker_job(uuid, text, integer, jsonb, text) is
  'The job is done, and its step gets the result. Again for the same attempt: no effect, and the first result stays.';

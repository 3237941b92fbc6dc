-- How a report comes to its job: locked. p_workspace_id: whose the caller is; null: anybody's. A job of another workspace does not
-- exist for the caller.
create function starflow._lock_job(p_job_id uuid, p_workspace_id text)
returns starflow.worker_jobs
language plpgsql
as $$
declare
  v_job starflow.worker_jobs;
begin
  select j.* into v_job from starflow.worker_jobs j join starflow.workflow_runs r on r.id = j.run_id
  where j.id = p_job_id and (p_workspace_id is null or r.workspace_id = p_workspace_id)
  for update of j;
  if v_job.id is null then
    perform pgflow._raise('SF944', format('Worker job %s does not exist.', p_job_id), 'There is no job of that id in the workspace.',
      'Report jobs by the id that they were claimed with.');
  end if;
  return v_job;
end $$;

-- The fence of a worker's report: its attempt is the job's last one, and open. A run that has ended wants no report.
create function starflow._check_lease(p_job starflow.worker_jobs, p_worker_id text, p_attempt integer)
returns void
language plpgsql
as $$
begin
  if p_job.status <> 'leased' or p_job.leased_by is distinct from p_worker_id or p_job.attempt is distinct from p_attempt
     or exists (select from starflow.workflow_runs r where r.id = p_job.run_id and starflow._has_ended(r.status)) then
    perform pgflow._raise('SF943', format('Worker "%s" no longer holds job %s.', p_worker_id, p_job.id),
      format('It came with attempt %s. The job is %s, its attempt %s.', coalesce(p_attempt::text, 'null'), p_job.status, p_job.attempt),
      'Stop the work on it and claim another one. If it is still wanted it is given out again.');
  end if;
end $$;

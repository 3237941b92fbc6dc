create function starflow.read_worker_job(job_id uuid)
returns setof starflow.worker_jobs
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select j.* from starflow.worker_jobs j where j.id = job_id;
end $$;
comment on function starflow.read_worker_job(uuid) is 'The job, or no row.';

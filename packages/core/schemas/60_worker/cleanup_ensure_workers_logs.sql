-- Removes only the history of Starflow's own jobs.
create function pgflow.cleanup_ensure_workers_logs(retention_hours integer default 24)
returns table (cron_deleted bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  return query
    with deleted as (
      delete from cron.job_run_details d
      using cron.job j
      where j.jobid = d.jobid and j.jobname in (
        'pgflow_ensure_workers', 'pgflow_cleanup_logs', 'pgflow_requeue_stalled_tasks', 'pgflow_prune_data', 'starflow_sample_queues')
        and d.end_time < now() - make_interval(hours => cleanup_ensure_workers_logs.retention_hours)
      returning 1
    )
    select count(*) from deleted;
end $$;
comment on function pgflow.cleanup_ensure_workers_logs(integer) is 'Deletes finished runs of Starflow''s cron jobs that are older than the given hours.';

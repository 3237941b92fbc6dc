create function pgflow.unschedule_flow(job_name text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  if not exists (select from cron.job j where j.jobname = unschedule_flow.job_name and j.username = current_user
                 and pgflow._is_flow_schedule(j.command)) then
    return false;
  end if;
  return cron.unschedule(unschedule_flow.job_name);
end $$;
comment on function pgflow.unschedule_flow(text) is 'Removes a schedule that was made with schedule_flow; false where there is none of that name.';

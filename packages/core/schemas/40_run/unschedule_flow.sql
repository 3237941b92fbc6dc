create function pgflow.unschedule_flow(job_name text)
returns boolean
language plpgsql
set search_path = ''
as $$
begin
  if not exists (select from cron.job j where j.jobname = unschedule_flow.job_name and j.command like 'select pgflow.start_flow(%') then
    return false;
  end if;
  return cron.unschedule(unschedule_flow.job_name);
end $$;
comment on function pgflow.unschedule_flow(text) is 'Removes a schedule made by schedule_flow; false where there is none of that name.';

-- With the rights of the owner of the jobs. The input of a schedule is nobody's business here.
create function starflow.flow_schedules()
returns table (job_name text, schedule text, flow_slug text, is_active boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regclass('cron.job') is null then
    return;
  end if;
  return query
    select j.jobname::text, j.schedule, f.flow_slug, j.active
    from cron.job j
    join pgflow.flows f on starts_with(j.command, format('select pgflow.start_flow(%L,', f.flow_slug))
    where j.username = current_user and pgflow._is_flow_schedule(j.command)
    order by j.jobname;
end $$;
comment on function starflow.flow_schedules() is 'The pg_cron jobs that schedule_flow has made, without their inputs.';

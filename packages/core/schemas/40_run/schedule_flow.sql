-- A pg_cron job that starts runs. With the rights of its owner, to whom the jobs belong: the server's role may not use pg_cron.
-- The command is of one form only, and a job of that name that does something else is left alone.
create function pgflow.schedule_flow(job_name text, schedule text, flow_slug text, input jsonb)
returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_command text;
begin
  if not exists (select from pgflow.flows f where f.flow_slug = schedule_flow.flow_slug) then
    perform pgflow._raise_unknown_flow(schedule_flow.flow_slug);
  end if;
  if input is null then
    perform pgflow._raise('SF203', format('Flow "%s" needs an input, but it is NULL.', schedule_flow.flow_slug),
      'Every run of the schedule gets this input.', 'Send JSON; a flow that needs nothing takes {} or the JSON null.');
  end if;
  perform pgflow._check_cron();
  select j.command into v_command from cron.job j
  where j.jobname = schedule_flow.job_name and j.username = current_user and not pgflow._is_flow_schedule(j.command);
  if v_command is not null then
    perform pgflow._raise('SF205', format('Job "%s" is not a schedule of a flow.', schedule_flow.job_name),
      'pg_cron has a job of that name that does something else.', 'Choose another job name.');
  end if;
  return cron.schedule(schedule_flow.job_name, schedule_flow.schedule,
    format('select pgflow.start_flow(%L, %L::jsonb)', schedule_flow.flow_slug, schedule_flow.input));
end $$;
comment on function pgflow.schedule_flow(text, text, text, jsonb) is
  'Starts a run on a pg_cron schedule (five fields, or ''N seconds''), with the rights of the SQL core''s owner; the same job name again replaces it. Returns the job''s id.';

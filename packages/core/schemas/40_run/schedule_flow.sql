-- A pg_cron job that starts runs, as the role that schedules it.
create function pgflow.schedule_flow(job_name text, schedule text, flow_slug text, input jsonb)
returns bigint
language plpgsql
set search_path = ''
as $$
begin
  if not exists (select from pgflow.flows f where f.flow_slug = schedule_flow.flow_slug) then
    perform pgflow._raise_unknown_flow(schedule_flow.flow_slug);
  end if;
  return cron.schedule(schedule_flow.job_name, schedule_flow.schedule,
    format('select pgflow.start_flow(%L, %L::jsonb)', schedule_flow.flow_slug, schedule_flow.input));
end $$;
comment on function pgflow.schedule_flow(text, text, text, jsonb) is
  'Starts a run on a pg_cron schedule (five fields, or ''N seconds''); the same job name again replaces it. Returns the job''s id.';

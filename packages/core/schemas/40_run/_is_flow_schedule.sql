-- Whether a command of pg_cron was made by schedule_flow.
create function pgflow._is_flow_schedule(p_command text)
returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select starts_with(p_command, 'select pgflow.start_flow(') and p_command like '%::jsonb)'
$$;

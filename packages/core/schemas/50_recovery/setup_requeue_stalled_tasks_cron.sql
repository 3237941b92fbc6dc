create function pgflow.setup_requeue_stalled_tasks_cron(cron_interval text default '15 seconds')
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  perform cron.schedule('pgflow_requeue_stalled_tasks', setup_requeue_stalled_tasks_cron.cron_interval, 'select pgflow.requeue_stalled_tasks()');
  return format('scheduled pgflow_requeue_stalled_tasks every %s', setup_requeue_stalled_tasks_cron.cron_interval);
end $$;
comment on function pgflow.setup_requeue_stalled_tasks_cron(text) is 'Schedules stalled recovery on pg_cron.';

create function pgflow.setup_ensure_workers_cron(cron_interval text default '1 second')
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  perform cron.schedule('pgflow_ensure_workers', setup_ensure_workers_cron.cron_interval, 'select pgflow.ensure_workers()');
  perform cron.schedule('pgflow_cleanup_logs', '0 * * * *', 'select pgflow.cleanup_ensure_workers_logs(); select pgflow.prune_workers()');
  return format('scheduled pgflow_ensure_workers every %s and pgflow_cleanup_logs hourly', setup_ensure_workers_cron.cron_interval);
end $$;
comment on function pgflow.setup_ensure_workers_cron(text) is 'Schedules ensure_workers and the clean-up of its history on pg_cron.';

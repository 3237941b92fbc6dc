create function starflow.setup_queue_samples_cron(cron_interval text default '* * * * *')
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  perform cron.schedule('starflow_sample_queues', setup_queue_samples_cron.cron_interval, 'select starflow.sample_queues()');
  return format('scheduled starflow_sample_queues at %s', setup_queue_samples_cron.cron_interval);
end $$;
comment on function starflow.setup_queue_samples_cron(text) is 'Schedules sample_queues on pg_cron, once a minute unless told otherwise. Without it the queues have no history.';

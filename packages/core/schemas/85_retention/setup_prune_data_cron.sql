create function pgflow.setup_prune_data_cron(retention_interval interval, cron_interval text default '17 * * * *')
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  -- Refuses what would be refused every hour.
  perform pgflow.prune_data_older_than(setup_prune_data_cron.retention_interval, dry_run => true);
  perform cron.schedule('pgflow_prune_data', setup_prune_data_cron.cron_interval,
    format('select pgflow.prune_data_older_than(%L::interval)', setup_prune_data_cron.retention_interval));
  return format('scheduled pgflow_prune_data at %s, for runs that ended %s ago', setup_prune_data_cron.cron_interval, setup_prune_data_cron.retention_interval);
end $$;
comment on function pgflow.setup_prune_data_cron(interval, text) is 'Schedules prune_data_older_than on pg_cron, hourly unless told otherwise. Nothing is pruned without it; to end it: select cron.unschedule(''pgflow_prune_data'').';

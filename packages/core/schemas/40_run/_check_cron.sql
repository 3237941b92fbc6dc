create function pgflow._check_cron()
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regclass('cron.job') is null then
    perform pgflow._raise('SF204', 'Schedules need the extension pg_cron, which this database does not have.',
      'There is no table cron.job.',
      'Run: create extension pg_cron');
  end if;
end $$;

create function pgflow._check_retention(p_interval interval, p_max_runs integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not coalesce(p_interval > interval '0', false) or not coalesce(p_max_runs > 0, false) then
    perform pgflow._raise('SF001', 'The retention is not valid.',
      format('retention_interval is %s, and max_runs is %s.', coalesce(p_interval::text, 'null'), coalesce(p_max_runs::text, 'null')),
      'Give an interval above zero, for example: select pgflow.prune_data_older_than(interval ''30 days'')');
  end if;
end $$;

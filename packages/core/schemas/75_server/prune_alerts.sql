create function starflow.prune_alerts(older_than_ms bigint)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  delete from starflow.alert_problems p where p.resolved_at < pgflow.clock() - starflow._milliseconds(older_than_ms);
  delete from starflow.alert_messages m where m.created_at < pgflow.clock() - starflow._milliseconds(older_than_ms);
$$;
comment on function starflow.prune_alerts(bigint) is 'Forgets problems that were resolved this long ago, and messages as old.';

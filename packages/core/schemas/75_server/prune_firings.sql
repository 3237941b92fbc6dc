create function starflow.prune_firings(older_than_ms bigint)
returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  with pruned as (
    delete from starflow.trigger_firings f
    where f.settled_at < pgflow.clock() - starflow._milliseconds(older_than_ms)
    returning f.occurrence
  )
  select count(*) from pruned
$$;
comment on function starflow.prune_firings(bigint) is 'Forgets firings that were settled this long ago. Their runs keep the idempotency keys.';

create function starflow.outbox_lag(warn_ms bigint default 2000, page_ms bigint default 30000)
returns table (fresh bigint, late bigint, overdue bigint, oldest_ms bigint, as_of timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  return query
    select count(*) filter (where o.created_at > v_now - starflow._milliseconds(warn_ms)),
           count(*) filter (where o.created_at <= v_now - starflow._milliseconds(warn_ms) and o.created_at > v_now - starflow._milliseconds(page_ms)),
           count(*) filter (where o.created_at <= v_now - starflow._milliseconds(page_ms)),
           coalesce((extract(epoch from v_now - min(o.created_at)) * 1000)::bigint, 0),
           coalesce(min(o.created_at), v_now)
    from starflow.mirror_outbox o
    where o.applied_at is null;
end $$;
comment on function starflow.outbox_lag(bigint, bigint) is
  'The lag of the mirror: rows that are not applied, younger than warn_ms, between the two, and page_ms or older; and up to when everything is applied.';

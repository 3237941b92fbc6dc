-- What a counter has counted. Null for a sequence that was never used.
create function starflow._count(p_sequence regclass)
returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(pg_sequence_last_value(p_sequence), 0)
$$;

create function pgflow.calculate_retry_delay(base_delay numeric, attempts_count integer)
returns integer
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select least(floor(base_delay * power(2::numeric, least(greatest(attempts_count, 0), 62))), 2147483647)::integer
$$;
comment on function pgflow.calculate_retry_delay(numeric, integer) is 'Seconds before the next attempt: base_delay × 2^attempts_count, saturating.';

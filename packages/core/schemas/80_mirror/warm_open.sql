-- An array, not rows: REST cuts rows off at a thousand.
create function starflow.warm_open()
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return (select coalesce(array_agg(w.run_id), '{}') from starflow.warm_runs w where w.is_open);
end $$;
comment on function starflow.warm_open() is 'The runs that the warm tier takes for open.';

create function starflow.warm_advance(as_of timestamptz)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into starflow.warm_watermark as m (as_of) values (warm_advance.as_of)
  on conflict (is_only) do update set as_of = excluded.as_of where m.as_of < excluded.as_of;
end $$;
comment on function starflow.warm_advance(timestamptz) is 'The warm tier now knows everything up to this instant. It does not go back.';

create function starflow.warm_as_of()
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select m.as_of from starflow.warm_watermark m);
end $$;
comment on function starflow.warm_as_of() is 'Up to when the warm tier knows everything; null while it knows nothing yet.';

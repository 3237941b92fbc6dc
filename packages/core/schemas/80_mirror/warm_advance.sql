-- A crash of Postgres empties the unlogged tables, this one with the others: then nothing is known until the sweep of the mirror has filled
-- them again, and only the sweep may say so.
create function starflow.warm_advance(as_of timestamptz, is_filled boolean default false)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if is_filled then
    insert into starflow.warm_watermark as m (as_of) values (warm_advance.as_of) on conflict (is_only) do nothing;
  end if;
  update starflow.warm_watermark m set as_of = greatest(m.as_of, warm_advance.as_of);
  return found;
end $$;
comment on function starflow.warm_advance(timestamptz, boolean) is
  'The warm tier now knows everything up to this instant. It does not go back. False where it knows nothing: it is filled first, and whoever has filled it says is_filled.';

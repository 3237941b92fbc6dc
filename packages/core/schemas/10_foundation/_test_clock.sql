-- The instant a test has set, honoured only while the setting test_clock is on.
create function pgflow._test_clock()
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if pgflow.get_setting('test_clock') = 'on' then
    return current_setting('pgflow.test_now')::timestamptz;
  end if;
  return statement_timestamp();
end $$;

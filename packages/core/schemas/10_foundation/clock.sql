-- The database's clock. Small enough to be inlined, so that the hot path pays one GUC look-up.
create function pgflow.clock()
returns timestamptz
language sql stable
as $$
  select case when nullif(current_setting('pgflow.test_now', true), '') is null
              then pg_catalog.statement_timestamp() else pgflow._test_clock() end
$$;
comment on function pgflow.clock() is 'The one source of time: the arrival of the statement, so that what a long transaction does last is not dated to its start; or a test''s instant while the setting test_clock is on.';

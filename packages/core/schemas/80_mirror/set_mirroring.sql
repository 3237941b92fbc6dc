-- The switch is of the database, not of one adapter: a server that does not mirror must not make the warm tier drift.
create function starflow.set_mirroring(is_on boolean)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow.set_setting('mirror', case when is_on then 'on' else 'off' end);
end $$;
comment on function starflow.set_mirroring(boolean) is
  'From now on every write of a run, event and session variable, by whomever, is put into mirror_outbox in its own transaction, or no longer.';

create function pgflow.get_setting(key text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._setting(get_setting.key);
end $$;
comment on function pgflow.get_setting(text) is 'The value of a setting: of events, max_requeues and max_retry_delay a GUC pgflow.<key> first (one that is not allowed is passed over); then the table, then the default; null when unset.';

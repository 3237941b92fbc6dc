create function pgflow.get_setting(key text)
returns text
language plpgsql stable
set search_path = ''
as $$
begin
  return coalesce(
    nullif(current_setting('pgflow.' || get_setting.key, true), ''),
    (select s.value from pgflow.settings s where s.key = get_setting.key),
    (select k.default_value from pgflow._known_settings() k where k.key = get_setting.key)
  );
end $$;
comment on function pgflow.get_setting(text) is 'The value of a setting: a GUC pgflow.<key> first, then the table, then the default; null when unset.';

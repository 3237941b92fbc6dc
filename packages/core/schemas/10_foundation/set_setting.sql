create function pgflow.set_setting(key text, value text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_known record;
begin
  select * into v_known from pgflow._known_settings() k where k.key = set_setting.key;
  if v_known.key is null then
    perform pgflow._raise('SF701', format('Setting "%s" is not known.', set_setting.key),
      'Known settings: ' || (select string_agg(k.key, ', ' order by k.key) from pgflow._known_settings() k) || '.',
      'Use one of them.');
  end if;
  if set_setting.value is null then
    delete from pgflow.settings s where s.key = set_setting.key;
    return;
  end if;
  if set_setting.value !~ v_known.pattern then
    perform pgflow._raise('SF701', format('Setting "%s" cannot be "%s".', set_setting.key, set_setting.value),
      format('Allowed: %s.', v_known.allowed), 'Use one of the allowed values, or null for the default.');
  end if;
  insert into pgflow.settings as s (key, value) values (set_setting.key, set_setting.value)
  on conflict on constraint settings_pkey do update set value = excluded.value, updated_at = now();
end $$;
comment on function pgflow.set_setting(text, text) is 'Sets a setting after checking key and value; null removes it, so that the default counts again.';

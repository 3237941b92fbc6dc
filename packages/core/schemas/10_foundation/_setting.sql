-- get_setting for the hot path: without a SET option, which costs more than the look-up. Callers run under an empty search_path.
create function pgflow._setting(p_key text)
returns text
language plpgsql stable
as $$
begin
  return coalesce(
    nullif(current_setting('pgflow.' || p_key, true), ''),
    (select s.value from pgflow.settings s where s.key = p_key),
    (select k.default_value from pgflow._known_settings() k where k.key = p_key)
  );
end $$;

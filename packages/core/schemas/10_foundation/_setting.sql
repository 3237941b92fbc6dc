-- get_setting for the hot path: without a SET option, which costs more than the look-up. Callers run under search_path = pg_catalog, pg_temp.
create function pgflow._setting(p_key text)
returns text
language plpgsql stable
as $$
declare
  v_parameter text := nullif(current_setting('pgflow.' || p_key, true), '');
begin
  -- Nobody has checked it: one that makes no sense must not stop a recovery, say, that reads a number from it.
  -- (Two questions, since the second is a query, which the first spares.)
  if v_parameter is not null then
    if exists (select from pgflow._known_settings() k where k.key = p_key and k.is_for_sessions and v_parameter ~ k.pattern) then
      return v_parameter;
    end if;
  end if;
  return coalesce(
    (select s.value from pgflow.settings s where s.key = p_key),
    (select k.default_value from pgflow._known_settings() k where k.key = p_key)
  );
end $$;

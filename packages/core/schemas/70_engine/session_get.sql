create function starflow.session_get(session_id text, key text)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select v.value_json from starflow.workflow_session_vars v
    where v.session_id = session_get.session_id and v.key = session_get.key and (v.keep_until is null or v.keep_until > pgflow.clock()));
end $$;
comment on function starflow.session_get(text, text) is 'The value of a session variable; null when there is none or it has expired.';

create function starflow.has_session_ended(session_id text)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from starflow.ended_sessions e where e.session_id = has_session_ended.session_id)
$$;
comment on function starflow.has_session_ended(text) is 'Whether this sign-in was signed out of.';

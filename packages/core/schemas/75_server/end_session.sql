create function starflow.end_session(session_id text, keep_for_ms bigint)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  delete from starflow.ended_sessions e where e.kept_until < pgflow.clock();
  insert into starflow.ended_sessions (session_id, kept_until)
  values (end_session.session_id, pgflow.clock() + starflow._milliseconds(keep_for_ms))
  on conflict do nothing;
$$;
comment on function starflow.end_session(text, bigint) is 'Ends a sign-in; that is kept for as long as its cookie could be good. Again: no effect.';

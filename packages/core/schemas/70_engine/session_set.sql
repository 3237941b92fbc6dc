-- Locks the run, then one variable: two runs that write the same one wait for each other there and nowhere else.
create function starflow.session_set(
  session_id text, key text, value jsonb, run_id uuid, keep_for_ms bigint default null, runner_id text default null,
  claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._lock_open_run(session_set.run_id, session_set.runner_id, session_set.claim_attempts);
  insert into starflow.workflow_session_vars as v (session_id, key, value_json, run_id, keep_until, updated_at)
  values (session_set.session_id, session_set.key, coalesce(session_set.value, 'null'), session_set.run_id,
          pgflow.clock() + starflow._milliseconds(keep_for_ms), pgflow.clock())
  on conflict on constraint workflow_session_vars_pkey do update set
    value_json = excluded.value_json, run_id = excluded.run_id, keep_until = excluded.keep_until, updated_at = excluded.updated_at;
end $$;
comment on function starflow.session_set(text, text, jsonb, uuid, bigint, text, integer) is
  'Writes a session variable. With keep_for_ms it is kept for so long, whatever becomes of the run; without, until the run that wrote it last ends.';

create function starflow.collect_sessions()
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count integer;
begin
  delete from starflow.workflow_session_vars v
  where (v.session_id, v.key) in (
    select o.session_id, o.key from starflow.workflow_session_vars o where o.keep_until <= pgflow.clock() for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;
comment on function starflow.collect_sessions() is 'Removes expired session variables; returns how many.';

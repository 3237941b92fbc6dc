create function pgflow.revoke_client_access(role_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_function regprocedure;
begin
  perform pgflow._check_client_role(role_name);
  perform pgflow._set_topic_policy(role_name, false);
  for v_function in select f from pgflow._client_functions() f loop
    execute format('revoke execute on function %s from %I', v_function, role_name);
  end loop;
  execute format('revoke select on pgflow.flows, pgflow.steps, pgflow.deps, pgflow.runs, pgflow.step_states, pgflow.step_tasks, pgflow.task_attempts from %I', role_name);
  execute format('revoke usage on schema pgflow from %I', role_name);
end $$;
comment on function pgflow.revoke_client_access(text) is 'Takes back what grant_client_access gave.';

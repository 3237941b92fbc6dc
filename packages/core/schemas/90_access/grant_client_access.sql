create function pgflow.grant_client_access(role_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_function regprocedure;
begin
  perform pgflow._check_client_role(role_name);
  execute format('grant usage on schema pgflow to %I', role_name);
  execute format('grant select on pgflow.flows, pgflow.steps, pgflow.deps, pgflow.runs, pgflow.step_states, pgflow.step_tasks, pgflow.task_attempts to %I', role_name);
  for v_function in select f from pgflow._client_functions() f loop
    execute format('grant execute on function %s to %I', v_function, role_name);
  end loop;
  perform pgflow._set_topic_policy(role_name, true);
end $$;
comment on function pgflow.grant_client_access(text) is
  'Lets a role start flows and see, watch, cancel and retry its own runs (by the JWT''s sub), and resume the waits they have a token for. Nothing else is opened.';

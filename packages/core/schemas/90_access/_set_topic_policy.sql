-- Lets a role listen to the private channels of its runs, or no longer. Realtime may be missing, or belong to somebody
-- else: then a notice says so, and clients of private channels read the state of their runs instead.
create function pgflow._set_topic_policy(p_role_name text, p_is_open boolean)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy text := left('starflow_runs_of_' || p_role_name, 63);
begin
  if to_regclass('realtime.messages') is null then
    raise notice 'There is no table realtime.messages, so % cannot be given the private channels of its runs', p_role_name;
    return;
  end if;
  execute format('drop policy if exists %I on realtime.messages', v_policy);
  if p_is_open then
    execute format(
      'create policy %I on realtime.messages for select to %I using (extension = ''broadcast'' and pgflow._may_watch((select realtime.topic())))',
      v_policy, p_role_name);
  end if;
exception when insufficient_privilege or undefined_function or undefined_column then
  raise notice 'The policy % on realtime.messages could not be changed: %', v_policy, sqlerrm;
end $$;

-- Whether the role behind this call may write runs itself. The setting role tells it inside a definer function too.
create function pgflow._caller_is_server()
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return has_table_privilege(
    case when current_setting('role') = 'none' then session_user else current_setting('role')::name end, 'pgflow.runs', 'insert');
end $$;

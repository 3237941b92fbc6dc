create function pgflow._check_client_role(p_role_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pg_catalog.pg_roles r where r.rolname = p_role_name) then
    perform pgflow._raise('SF001', format('Role "%s" does not exist.', p_role_name), 'Roles of a Supabase project: anon, authenticated, service_role.',
      'Check the spelling.');
  end if;
  if has_table_privilege(p_role_name, 'pgflow.runs', 'insert') then
    perform pgflow._raise('SF001', format('Role "%s" is not a client.', p_role_name),
      'It may write runs itself, as the server does, and sees all of them.', 'Use the role that signed-in people have: authenticated.');
  end if;
end $$;

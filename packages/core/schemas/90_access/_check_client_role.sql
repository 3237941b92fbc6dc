create function pgflow._check_client_role(p_role_name text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  if not exists (select from pg_catalog.pg_roles r where r.rolname = p_role_name) then
    perform pgflow._raise('SF001', format('Role "%s" does not exist.', p_role_name), 'Roles of a Supabase project: anon, authenticated, service_role.',
      'Check the spelling.');
  end if;
end $$;

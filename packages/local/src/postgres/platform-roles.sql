-- The roles of a Supabase project. They belong to the server, so this runs once for it and again without harm.
-- `supabase_admin` is the superuser that initdb made; `postgres` is not one, as on hosted projects.
do $$
declare
  v_role record;
begin
  for v_role in
    select *
    from (values
      ('postgres', 'login createrole createdb replication bypassrls'),
      ('anon', 'nologin'),
      ('authenticated', 'nologin'),
      ('service_role', 'nologin bypassrls'),
      ('authenticator', 'login noinherit')
    ) as wanted (name, attributes)
    where not exists (select from pg_roles where rolname = wanted.name)
  loop
    execute format('create role %I %s', v_role.name, v_role.attributes);
  end loop;
end
$$;

grant anon, authenticated, service_role to authenticator;
grant anon, authenticated, service_role, authenticator to postgres with admin option;
grant pg_monitor, pg_signal_backend to postgres;

alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticator set statement_timeout = '8s';

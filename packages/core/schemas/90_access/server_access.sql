-- Closed by default: nothing for PUBLIC; service_role gets the server's functions and tables.
revoke all on schema pgflow from public;
revoke execute on all functions in schema pgflow from public;

-- Nothing for others either, whatever default privileges of the project gave them as these objects were made.
do $$
declare
  v_role text;
begin
  for v_role in
    select distinct r.rolname
    from (select n.nspowner as owner, n.nspacl as acl from pg_namespace n where n.nspname in ('pgflow', 'starflow')
          union all
          select p.proowner, p.proacl from pg_proc p where p.pronamespace in ('pgflow'::regnamespace, 'starflow'::regnamespace)
          union all
          select c.relowner, c.relacl from pg_class c where c.relnamespace in ('pgflow'::regnamespace, 'starflow'::regnamespace)) o
    cross join aclexplode(o.acl) a
    join pg_roles r on r.oid = a.grantee
    where a.grantee <> o.owner and r.rolname <> 'service_role'
  loop
    execute format('revoke all on schema pgflow, starflow from %I', v_role);
    execute format('revoke all on all functions in schema pgflow, starflow from %I', v_role);
    execute format('revoke all on all tables in schema pgflow, starflow from %I', v_role);
    execute format('revoke all on all sequences in schema pgflow, starflow from %I', v_role);
  end loop;
end $$;

do $$
begin
  if exists (select from pg_roles where rolname = 'service_role') then
    grant usage on schema pgflow to service_role;
    grant select, insert, update, delete on all tables in schema pgflow to service_role;
    grant usage, select on all sequences in schema pgflow to service_role;
    grant execute on all functions in schema pgflow to service_role;
  end if;
end $$;

-- The functions run with their caller's rights, so service_role needs the queues too: those that are there, and those that
-- later compiles create.
do $$
begin
  if exists (select from pg_roles where rolname = 'service_role') then
    grant usage on schema pgmq to service_role;
    grant execute on all functions in schema pgmq to service_role;
    grant select, insert, update, delete on all tables in schema pgmq to service_role;
    alter default privileges in schema pgmq grant select, insert, update, delete on tables to service_role;
  end if;
end $$;

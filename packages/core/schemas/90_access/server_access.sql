-- Closed by default: nothing for PUBLIC; service_role gets the server's functions and tables.
revoke all on schema pgflow from public;
revoke execute on all functions in schema pgflow from public;

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

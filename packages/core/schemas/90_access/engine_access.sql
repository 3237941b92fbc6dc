-- Runs on runners are the server's alone: service_role executes the functions, which work with its rights. Row-level security
-- is on with no policy, so that a grant made by mistake opens nothing.
revoke all on schema starflow from public;
revoke execute on all functions in schema starflow from public;

do $$
declare
  v_table regclass;
begin
  for v_table in select c.oid from pg_class c where c.relnamespace = 'starflow'::regnamespace and c.relkind = 'r' loop
    execute format('alter table %s enable row level security', v_table);
  end loop;
  if exists (select from pg_roles where rolname = 'service_role') then
    grant usage on schema starflow to service_role;
    grant select, insert, update, delete on all tables in schema starflow to service_role;
    grant usage, select on all sequences in schema starflow to service_role;
    grant execute on all functions in schema starflow to service_role;
  end if;
end $$;

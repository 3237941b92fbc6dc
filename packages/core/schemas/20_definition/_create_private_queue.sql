-- Makes a queue and its archive. What default privileges of the project give others on new tables is taken back: the schema of pgmq may be
-- open to clients for queues of their own. service_role keeps its own, since workers call with its rights.
create function pgflow._create_private_queue(p_queue_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table record;
begin
  perform pgmq.create(p_queue_name);
  for v_table in
    select c.relname, string_agg(distinct case a.grantee when 0 then 'public' else quote_ident(r.rolname) end, ', ') as roles
    from pg_class c
    cross join aclexplode(c.relacl) a
    left join pg_roles r on r.oid = a.grantee
    where c.relnamespace = 'pgmq'::regnamespace
      and c.relname in (pgmq.format_table_name(p_queue_name, 'q'), pgmq.format_table_name(p_queue_name, 'a'))
      and a.grantee <> c.relowner and r.rolname is distinct from 'service_role'
    group by c.relname
  loop
    execute format('revoke all on pgmq.%I from %s', v_table.relname, v_table.roles);
  end loop;
end $$;

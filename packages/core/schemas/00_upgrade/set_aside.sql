-- See README.md in this folder. Everything is checked before anything changes.
do $$
declare
  v_tables text[] := array['flows', 'steps', 'deps', 'runs', 'step_states', 'step_tasks', 'workers', 'worker_functions'];
  v_problems text[];
begin
  if to_regclass('pgflow.flows') is null
    or exists (select from information_schema.columns c where c.table_schema = 'pgflow' and c.table_name = 'flows' and c.column_name = 'queue_mode') then
    return;
  end if;
  perform set_config('lock_timeout', '10s', true);
  lock table pgflow.flows, pgflow.steps, pgflow.deps, pgflow.runs, pgflow.step_states, pgflow.step_tasks, pgflow.workers,
    pgflow.worker_functions in access exclusive mode;

  with slugs as (
    select 'flow' as kind, f.flow_slug as slug, format('flow "%s"', f.flow_slug) as name from pgflow.flows f
    union all
    select 'step', s.step_slug, format('step "%s" of flow "%s"', s.step_slug, s.flow_slug) from pgflow.steps s
  ), problems as (
    select format('%s breaks the rules for slugs', s.name) as text from slugs s
    where s.slug !~ '^[a-zA-Z]([a-zA-Z0-9_]*[a-zA-Z0-9])?$' or s.slug ~ '__' or length(s.slug) > 128 or s.slug = 'run'
    union all
    select format('flow "%s" has a queue name of %s characters, and 47 are the most', f.flow_slug, length(f.flow_slug))
    from pgflow.flows f where length(f.flow_slug) > 47
    union all
    select format('flows %s differ only in case', string_agg(format('"%s"', f.flow_slug), ' and ' order by f.flow_slug collate "C"))
    from pgflow.flows f group by lower(f.flow_slug collate "C") having count(*) > 1
    union all
    select format('steps %s of flow "%s" differ only in case', string_agg(format('"%s"', s.step_slug), ' and ' order by s.step_slug collate "C"), s.flow_slug)
    from pgflow.steps s group by s.flow_slug, lower(s.step_slug collate "C") having count(*) > 1
    union all
    select format('message %s of queue "%s" has %s tasks', t.message_id, lower(t.flow_slug collate "C"), count(*))
    from pgflow.step_tasks t where t.message_id is not null group by lower(t.flow_slug collate "C"), t.message_id having count(*) > 1
    union all
    select format('"%s" in schema pgflow is none of its tables', c.relname)
    from pg_class c where c.relnamespace = 'pgflow'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relname <> all (v_tables)
  )
  select array_agg(p.text order by p.text collate "C") into v_problems from problems p;
  if v_problems is not null then
    raise exception using errcode = 'SF120', message = 'The database cannot be upgraded as it is.',
      detail = array_to_string(v_problems[1:20], '; ') || case when cardinality(v_problems) > 20 then format(' and %s more.', cardinality(v_problems) - 20) else '.' end,
      hint = 'Nothing was changed. Mend or delete these with the released version, then apply the migration again.';
  end if;

  -- What stands on the tables and is not in them, as statements about the schema that is still called pgflow.
  create table pgflow._kept (statement text not null);
  insert into pgflow._kept
  select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where c.relnamespace = 'pgflow'::regnamespace and not t.tgisinternal;
  insert into pgflow._kept
  select format('create policy %I on pgflow.%I as %s for %s to %s%s%s', p.policyname, p.tablename, p.permissive, p.cmd,
                (select string_agg(quote_ident(r), ', ') from unnest(p.roles) r),
                ' using (' || p.qual || ')', ' with check (' || p.with_check || ')')
  from pg_policies p where p.schemaname = 'pgflow';
  -- Privileges, asked for instead of read from lists: a role has those of PUBLIC and of the roles it is in too.
  create table pgflow._roles as
    select r.rolname as role_name, has_table_privilege(r.oid, 'pgflow.runs', 'insert') as is_server,
           array(select x from unnest(v_tables) x where has_table_privilege(r.oid, format('pgflow.%I', x), 'select')
                 and not (select c.relrowsecurity from pg_class c where c.oid = format('pgflow.%I', x)::regclass)) as reads,
           -- What a policy of the project lets it see, and no more.
           array(select x from unnest(v_tables) x where has_table_privilege(r.oid, format('pgflow.%I', x), 'select')
                 and (select c.relrowsecurity from pg_class c where c.oid = format('pgflow.%I', x)::regclass)
                 and exists (select from pg_policies p where p.schemaname = 'pgflow' and p.tablename = x and p.cmd in ('ALL', 'SELECT')
                   and exists (select from unnest(p.roles) o where case when o = 'public' then true else pg_has_role(r.oid, o, 'usage') end))) as reads_by_policy,
           array(select distinct p.proname::text from pg_proc p where p.pronamespace = 'pgflow'::regnamespace and p.prosecdef
                 and has_function_privilege(r.oid, p.oid, 'execute')) as calls
    from pg_roles r
    -- The owner's privileges, and those of roles that are in the owner's, come with the new schema.
    where not r.rolsuper and r.rolname !~ '^pg_' and not pg_has_role(r.oid, (select n.nspowner from pg_namespace n where n.nspname = 'pgflow'), 'usage')
      and has_schema_privilege(r.oid, 'pgflow', 'usage');
  alter schema pgflow rename to pgflow_released;
end $$;

/**
 * One query for each kind of catalog object. Each returns rows of (id text, facts jsonb): `id` names the object so that
 * it can be compared between two databases, `facts` holds everything about it that a migration could get wrong.
 * Objects of extensions and of the system are left out; numbers that only one database knows (oids) never appear.
 */

/** Grants as sorted text, the implicit default spelled out, so that NULL and its explicit form are equal. */
const grants = (acl: string, kind: string, owner: string) => `(
  select coalesce(jsonb_agg(entry order by entry), '[]') from (
    select format('%s: %s%s by %s', case grantee when 0 then 'PUBLIC' else grantee::regrole::text end, privilege_type,
      case when is_grantable then ' with grant option' else '' end, grantor::regrole) as entry
    from aclexplode(coalesce(${acl}, acldefault('${kind}', ${owner})))) entries)`

/** The same for columns, which have no implicit grants. */
const columnGrants = (acl: string) => `(
  select coalesce(jsonb_agg(entry order by entry), '[]') from (
    select format('%s: %s by %s', case grantee when 0 then 'PUBLIC' else grantee::regrole::text end, privilege_type,
      grantor::regrole) as entry
    from aclexplode(${acl})) entries)`

const ownSchema = (alias: string) => `
  ${alias}.nspname not in ('pg_catalog', 'information_schema') and ${alias}.nspname !~ '^pg_(toast|temp)'`

const notOfExtension = (catalog: string, oid: string) => `
  not exists (select from pg_catalog.pg_depend member where member.classid = '${catalog}'::regclass
    and member.objid = ${oid} and member.deptype = 'e')`

export const CATALOG_QUERIES = {
  schemas: `
    select n.nspname::text as id, jsonb_build_object('owner', n.nspowner::regrole, 'grants', ${grants('n.nspacl', 'n', 'n.nspowner')},
      'comment', obj_description(n.oid, 'pg_namespace')) as facts
    from pg_namespace n where ${ownSchema('n')}`,

  extensions: `
    select e.extname::text as id, jsonb_build_object('schema', e.extnamespace::regnamespace, 'version', e.extversion) as facts
    from pg_extension e`,

  types: `
    select format('%s.%s', n.nspname, t.typname) as id, jsonb_build_object('kind', t.typtype, 'owner', t.typowner::regrole,
      'labels', (select jsonb_agg(enumlabel order by enumsortorder) from pg_enum where enumtypid = t.oid),
      'base', case when t.typbasetype <> 0 then format_type(t.typbasetype, t.typtypmod) end,
      'not null', t.typnotnull, 'default', t.typdefault,
      'attributes', (select jsonb_agg(format('%s %s', attname, format_type(atttypid, atttypmod)) order by attnum)
        from pg_attribute where attrelid = t.typrelid and attnum > 0 and not attisdropped),
      'grants', ${grants('t.typacl', 'T', 't.typowner')}, 'comment', obj_description(t.oid, 'pg_type')) as facts
    from pg_type t join pg_namespace n on n.oid = t.typnamespace left join pg_class c on c.oid = t.typrelid
    where ${ownSchema('n')} and ${notOfExtension('pg_type', 't.oid')} and t.typelem = 0 and (c.relkind is null or c.relkind = 'c')`,

  relations: `
    select format('%s.%s', n.nspname, c.relname) as id, jsonb_build_object('kind', c.relkind, 'owner', c.relowner::regrole,
      'persistence', c.relpersistence, 'row security', c.relrowsecurity, 'forced', c.relforcerowsecurity,
      'options', to_jsonb(c.reloptions), 'replica identity', c.relreplident,
      'definition', case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end,
      'grants', ${grants('c.relacl', 'r', 'c.relowner')}, 'comment', obj_description(c.oid, 'pg_class')) as facts
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and ${ownSchema('n')} and ${notOfExtension('pg_class', 'c.oid')}`,

  sequences: `
    select format('%s.%s', n.nspname, c.relname) as id, jsonb_build_object('owner', c.relowner::regrole, 'type', s.seqtypid::regtype,
      'start', s.seqstart, 'increment', s.seqincrement, 'min', s.seqmin, 'max', s.seqmax, 'cache', s.seqcache, 'cycle', s.seqcycle,
      'grants', ${grants('c.relacl', 's', 'c.relowner')}) as facts
    from pg_sequence s join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
    where ${ownSchema('n')} and ${notOfExtension('pg_class', 'c.oid')}`,

  columns: `
    select format('%s.%s.%s', n.nspname, c.relname, a.attname) as id, jsonb_build_object(
      'position', (select count(*) from pg_attribute b where b.attrelid = c.oid and b.attnum between 1 and a.attnum and not b.attisdropped),
      'type', format_type(a.atttypid, a.atttypmod), 'not null', a.attnotnull, 'default', pg_get_expr(d.adbin, d.adrelid),
      'identity', a.attidentity, 'generated', a.attgenerated, 'collation', nullif(a.attcollation, 0)::regcollation,
      'storage', a.attstorage, 'grants', ${columnGrants('a.attacl')}, 'comment', col_description(c.oid, a.attnum)) as facts
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and ${ownSchema('n')} and ${notOfExtension('pg_class', 'c.oid')}`,

  constraints: `
    select format('%s.%s.%s', n.nspname, coalesce(c.relname, t.typname), k.conname) as id, jsonb_build_object(
      'definition', pg_get_constraintdef(k.oid), 'validated', k.convalidated, 'comment', obj_description(k.oid, 'pg_constraint')) as facts
    from pg_constraint k join pg_namespace n on n.oid = k.connamespace
    left join pg_class c on c.oid = k.conrelid left join pg_type t on t.oid = k.contypid
    where ${ownSchema('n')} and k.contype <> 't' and ${notOfExtension('pg_class', 'k.conrelid')}`,

  indexes: `
    select format('%s.%s', n.nspname, c.relname) as id, jsonb_build_object('definition', pg_get_indexdef(i.indexrelid),
      'valid', i.indisvalid, 'comment', obj_description(c.oid, 'pg_class')) as facts
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
    where ${ownSchema('n')} and ${notOfExtension('pg_class', 'i.indrelid')}`,

  triggers: `
    select format('%s.%s.%s', n.nspname, c.relname, t.tgname) as id, jsonb_build_object('definition', pg_get_triggerdef(t.oid),
      'enabled', t.tgenabled, 'comment', obj_description(t.oid, 'pg_trigger')) as facts
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    where not t.tgisinternal and ${ownSchema('n')} and ${notOfExtension('pg_trigger', 't.oid')}`,

  eventTriggers: `
    select t.evtname::text as id, jsonb_build_object('event', t.evtevent, 'function', t.evtfoid::regprocedure,
      'tags', to_jsonb(t.evttags), 'enabled', t.evtenabled) as facts
    from pg_event_trigger t where ${notOfExtension('pg_event_trigger', 't.oid')}`,

  policies: `
    select format('%s.%s.%s', n.nspname, c.relname, p.polname) as id, jsonb_build_object('command', p.polcmd, 'permissive', p.polpermissive,
      'roles', (select jsonb_agg(case role when 0 then 'PUBLIC' else role::regrole::text end order by 1) from unnest(p.polroles) role),
      'using', pg_get_expr(p.polqual, p.polrelid), 'check', pg_get_expr(p.polwithcheck, p.polrelid)) as facts
    from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
    where ${ownSchema('n')} and ${notOfExtension('pg_class', 'c.oid')}`,

  functions: `
    select format('%s.%s(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) as id, jsonb_build_object(
      'definition', case when p.prokind in ('f', 'p') then pg_get_functiondef(p.oid) end, 'kind', p.prokind,
      'owner', p.proowner::regrole, 'security definer', p.prosecdef, 'config', to_jsonb(p.proconfig),
      'grants', ${grants('p.proacl', 'f', 'p.proowner')}, 'comment', obj_description(p.oid, 'pg_proc')) as facts
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where ${ownSchema('n')} and ${notOfExtension('pg_proc', 'p.oid')}`,

  defaultGrants: `
    select format('%s in %s on %s', d.defaclrole::regrole, coalesce(n.nspname, 'any schema'), d.defaclobjtype) as id,
      jsonb_build_object('grants', ${columnGrants('d.defaclacl')}) as facts
    from pg_default_acl d left join pg_namespace n on n.oid = d.defaclnamespace`,
} as const

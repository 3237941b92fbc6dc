-- What changes: the SQL core of Starflow is installed (schemas pgflow and starflow). Built from packages/core/schemas: edit there.
-- Under load: yes. It only creates what does not exist yet and locks no table of yours.
-- Going back: unschedule the pgflow_* jobs in cron.job, drop the queues of your flows, then drop schemas pgflow and starflow cascade.

-- 00_upgrade/set_aside.sql
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

-- 10_foundation/01_tables.sql
create schema if not exists pgflow;
-- As the extension, whose version is the database's own business, or as anything else that offers the same functions.
-- Headers are what 1.5.0 brought, and with it the form of a message that is read here.
do $$
begin
  if to_regtype('pgmq.message_record') is null then
    create extension if not exists pgmq;
  end if;
  if not exists (select from pg_attribute a join pg_type t on t.typrelid = a.attrelid
                 where t.oid = to_regtype('pgmq.message_record') and a.attname = 'headers' and not a.attisdropped) then
    raise exception using errcode = 'SF003', message = 'Starflow needs pgmq 1.5.0 or later.',
      detail = format('This database has %s, whose messages have no headers.',
                      coalesce('pgmq ' || (select e.extversion from pg_extension e where e.extname = 'pgmq'), 'an older pgmq')),
      hint = 'Run: alter extension pgmq update; where that finds no newer version, update the Postgres of the project.';
  end if;
end $$;
-- Signs the tokens of durable waits. Where Supabase keeps it; one in another schema will do.
create schema if not exists extensions;
create extension if not exists pgcrypto with schema extensions;

-- What an operator may set. Read through get_setting, written through set_setting, which knows the keys.
create table pgflow.settings (
  key text primary key,
  value text not null,
  updated_at timestamptz not null default now()
);
comment on table pgflow.settings is 'Settings of this database. Secrets never stand here: they come from Vault.';

-- What has happened so often, for metrics. Sequences, because nothing else counts on the hot path for next to nothing: nextval holds no
-- lock until the end of its transaction, so that nobody waits for anybody, and writes WAL once in 32 times. They are counted where it happens,
-- also when that transaction is rolled back later, and they never go back.
create sequence pgflow.counted_runs_started;
create sequence pgflow.counted_runs_completed;
create sequence pgflow.counted_runs_failed;
create sequence pgflow.counted_runs_cancelled;
create sequence pgflow.counted_claims;
create sequence pgflow.counted_completions;
create sequence pgflow.counted_failures;
create sequence pgflow.counted_refusals;
create sequence pgflow.counted_requeues;

-- 10_foundation/_known_settings.sql
-- Without SET options, which would keep it from being inlined. Every key: its default (null: unset), the values it takes, and whether a
-- session may set it for itself: only what tunes. What weakens a check, opens a channel or says where secrets go, stands in the table,
-- where the server alone writes.
create function pgflow._known_settings()
returns table (key text, default_value text, allowed text, pattern text, is_for_sessions boolean)
language sql immutable
as $$
  values
    ('local', null, 'on or off', '^(on|off)$', false),
    ('functions_base_url', null, 'the http(s) URL in front of the function names', '^https?://[^ ]+[^/ ]$', false),
    ('events', 'watched', 'all, watched or off', '^(all|watched|off)$', true),
    ('events_channel', 'private', 'private or public', '^(private|public)$', false),
    ('max_requeues', '3', 'a whole number from 0 to 1000', '^(1000|[0-9]{1,3})$', true),
    ('max_retry_delay', '86400', 'seconds, a whole number from 0 to 9999999', '^[0-9]{1,7}$', true),
    ('wait_token_kid', 'default', 'the name of a key: letters, digits, - and _, at most 32', '^[A-Za-z0-9_-]{1,32}$', false),
    ('mirror', 'off', 'on or off', '^(on|off)$', false),
    ('unowned_runs', 'hidden', 'hidden or visible', '^(hidden|visible)$', false),
    ('test_clock', 'off', 'on or off', '^(on|off)$', false)
$$;

-- 10_foundation/_raise.sql
-- The one way to refuse: all four parts, under a SQLSTATE that is also the error code (docs/errors/<CODE>.md).
create function pgflow._raise(p_code text, p_message text, p_detail text, p_hint text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = p_code, message = p_message, detail = p_detail, hint = p_hint;
end $$;

-- 10_foundation/_setting.sql
-- get_setting for the hot path: without a SET option, which costs more than the look-up. Callers run under search_path = pg_catalog, pg_temp.
create function pgflow._setting(p_key text)
returns text
language plpgsql stable
as $$
declare
  v_parameter text := nullif(current_setting('pgflow.' || p_key, true), '');
begin
  -- Nobody has checked it: one that makes no sense must not stop a recovery, say, that reads a number from it.
  -- (Two questions, since the second is a query, which the first spares.)
  if v_parameter is not null then
    if exists (select from pgflow._known_settings() k where k.key = p_key and k.is_for_sessions and v_parameter ~ k.pattern) then
      return v_parameter;
    end if;
  end if;
  return coalesce(
    (select s.value from pgflow.settings s where s.key = p_key),
    (select k.default_value from pgflow._known_settings() k where k.key = p_key)
  );
end $$;

-- 10_foundation/_test_clock.sql
-- The instant a test has set, honoured only while the setting test_clock is on.
create function pgflow._test_clock()
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if pgflow.get_setting('test_clock') = 'on' then
    return current_setting('pgflow.test_now')::timestamptz;
  end if;
  return statement_timestamp();
end $$;

-- 10_foundation/clock.sql
-- The database's clock. Small enough to be inlined, so that the hot path pays one GUC look-up.
create function pgflow.clock()
returns timestamptz
language sql stable
as $$
  select case when nullif(current_setting('pgflow.test_now', true), '') is null
              then pg_catalog.statement_timestamp() else pgflow._test_clock() end
$$;
comment on function pgflow.clock() is 'The one source of time: the arrival of the statement, so that what a long transaction does last is not dated to its start; or a test''s instant while the setting test_clock is on.';

-- 10_foundation/get_setting.sql
create function pgflow.get_setting(key text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._setting(get_setting.key);
end $$;
comment on function pgflow.get_setting(text) is 'The value of a setting: of events, max_requeues and max_retry_delay a GUC pgflow.<key> first (one that is not allowed is passed over); then the table, then the default; null when unset.';

-- 10_foundation/is_local.sql
create function pgflow.is_local()
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting text := pgflow.get_setting('local');
begin
  if v_setting is not null then
    return v_setting = 'on';
  end if;
  -- The JWT secret that every local Supabase CLI stack shares.
  return coalesce(current_setting('app.settings.jwt_secret', true), '')
    = 'super-secret-jwt-token-with-at-least-32-characters-long';
end $$;
comment on function pgflow.is_local() is 'Whether this is a development database: the setting local decides, else the well-known development JWT secret.';

-- 10_foundation/is_valid_slug.sql
-- One contract for flow and step slugs; the dsl's slug.ts is its twin and both run packages/dsl/vectors/names.json.
-- "__" is what generated queue names join with, so no slug may hold it.
create function pgflow.is_valid_slug(slug text)
returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    slug ~ '^[a-zA-Z]([a-zA-Z0-9_]*[a-zA-Z0-9])?$' and slug !~ '__' and length(slug) <= 128 and slug <> 'run',
    false)
$$;
comment on function pgflow.is_valid_slug(text) is 'First character a letter, last a letter or digit, letters, digits and single underscores, at most 128, not "run".';

-- 10_foundation/new_run_id.sql
-- UUIDv7 layout (RFC 9562, 5.7): 48 bits of Unix milliseconds, then random bits. Run ids that grow with time keep
-- inserts at the right edge of every index that starts with run_id: 51 K instead of 34-40 K starts/s when measured.
-- Its body is parsed once and for all, so that it needs no search_path of its own and is inlined: called as a function it
-- was a twentieth of a bulk start.
create function pgflow.new_run_id()
returns uuid
language sql volatile parallel safe
return encode(
  set_bit(set_bit(
    overlay(uuid_send(gen_random_uuid())
            placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
            from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid;
comment on function pgflow.new_run_id() is 'A time-ordered UUID (version 7).';

-- 10_foundation/set_setting.sql
create function pgflow.set_setting(key text, value text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_known record;
begin
  select * into v_known from pgflow._known_settings() k where k.key = set_setting.key;
  if v_known.key is null then
    perform pgflow._raise('SF701', format('Setting "%s" is not known.', set_setting.key),
      'Known settings: ' || (select string_agg(k.key, ', ' order by k.key) from pgflow._known_settings() k) || '.',
      'Use one of them.');
  end if;
  if set_setting.value is null then
    delete from pgflow.settings s where s.key = set_setting.key;
    return;
  end if;
  if set_setting.value !~ v_known.pattern then
    perform pgflow._raise('SF701', format('Setting "%s" cannot be "%s".', set_setting.key, set_setting.value),
      format('Allowed: %s.', v_known.allowed), 'Use one of the allowed values, or null for the default.');
  end if;
  insert into pgflow.settings as s (key, value) values (set_setting.key, set_setting.value)
  on conflict on constraint settings_pkey do update set value = excluded.value, updated_at = now();
end $$;
comment on function pgflow.set_setting(text, text) is 'Sets a setting after checking key and value; null removes it, so that the default counts again.';

-- 20_definition/01_tables.sql
create table pgflow.flows (
  flow_slug text not null,
  opt_max_attempts integer not null default 3,
  opt_base_delay integer not null default 1,
  opt_max_delay integer,
  opt_timeout integer not null default 60,
  queue_mode text not null default 'flow',
  input_schema jsonb,
  created_at timestamptz not null default now(),
  compiled_at timestamptz not null default now(),
  paused_at timestamptz,
  constraint flows_pkey primary key (flow_slug),
  constraint opt_base_delay_is_nonnegative check (opt_base_delay >= 0),
  constraint opt_max_attempts_is_nonnegative check (opt_max_attempts >= 0),
  constraint opt_max_delay_is_nonnegative check (opt_max_delay is null or opt_max_delay >= 0),
  constraint opt_timeout_is_positive check (opt_timeout > 0),
  constraint queue_mode_is_valid check (queue_mode in ('flow', 'step')),
  constraint slug_is_valid check (pgflow.is_valid_slug(flow_slug))
);
-- Queue names are lower-cased, so two spellings of one slug would share their queues.
create unique index flows_lower_flow_slug_key on pgflow.flows (lower(flow_slug collate "C"));
comment on table pgflow.flows is 'One row per concrete slug: an immutable shape, queue mode and route map.';

create table pgflow.steps (
  flow_slug text not null,
  step_slug text not null,
  step_type text not null default 'single',
  step_index integer not null default 0,
  deps_count integer not null default 0,
  opt_max_attempts integer,
  opt_base_delay integer,
  opt_max_delay integer,
  opt_timeout integer,
  created_at timestamptz not null default now(),
  opt_start_delay integer,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text not null default 'skip',
  when_exhausted text not null default 'fail',
  queue_name text not null,
  -- Whether a map runs over this step's output, which must then be an array. Derived from deps by add_step.
  feeds_map boolean not null default false,
  constraint steps_pkey primary key (flow_slug, step_slug),
  constraint steps_flow_slug_step_index_key unique (flow_slug, step_index),
  constraint steps_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug),
  constraint forbidden_input_pattern_is_object check (forbidden_input_pattern is null or jsonb_typeof(forbidden_input_pattern) = 'object'),
  constraint opt_base_delay_is_nonnegative check (opt_base_delay is null or opt_base_delay >= 0),
  constraint opt_max_attempts_is_nonnegative check (opt_max_attempts is null or opt_max_attempts >= 0),
  constraint opt_max_delay_is_nonnegative check (opt_max_delay is null or opt_max_delay >= 0),
  constraint opt_start_delay_is_nonnegative check (opt_start_delay is null or opt_start_delay >= 0),
  constraint opt_timeout_is_positive check (opt_timeout is null or opt_timeout > 0),
  constraint required_input_pattern_is_object check (required_input_pattern is null or jsonb_typeof(required_input_pattern) = 'object'),
  -- The names that _derive_routes can give to this very step. No slug holds "__", so that no other step and no other flow has one of
  -- them: a route leads into no foreign queue, and a deletion by routes drops none.
  -- A slug that is not valid is refused by steps_step_slug_check, whose name callers know.
  constraint queue_is_its_own check (not pgflow.is_valid_slug(step_slug) or queue_name in (
    lower(flow_slug collate "C"), lower((flow_slug || '__' || step_slug) collate "C"), lower((flow_slug || '__' || step_index::text) collate "C"))),
  constraint steps_deps_count_check check (deps_count >= 0),
  constraint steps_step_slug_check check (pgflow.is_valid_slug(step_slug)),
  constraint steps_step_type_check check (step_type in ('single', 'map', 'wait')),
  constraint wait_runs_nothing check (
    step_type <> 'wait' or num_nonnulls(opt_max_attempts, opt_base_delay, opt_max_delay, opt_start_delay) = 0),
  constraint when_exhausted_is_valid check (when_exhausted in ('fail', 'skip', 'skip-cascade')),
  constraint when_unmet_is_valid check (when_unmet in ('fail', 'skip', 'skip-cascade'))
);
create unique index steps_lower_step_slug_key on pgflow.steps (flow_slug, lower(step_slug collate "C"));
create index steps_queue_name_idx on pgflow.steps (queue_name);
comment on table pgflow.steps is
  'The steps of a flow; (flow_slug, step_slug) → queue_name is its route, ordered by step_index. A wait has no route: its queue_name is lower(flow_slug), and no message of it is ever sent.';

-- Which queue serves which step: every step but the waits, which hold no worker and no message.
create view pgflow._routes as
  select s.flow_slug, s.step_slug, s.step_index, s.queue_name from pgflow.steps s where s.step_type <> 'wait';

create table pgflow.deps (
  flow_slug text not null,
  dep_slug text not null,
  step_slug text not null,
  created_at timestamptz not null default now(),
  constraint deps_pkey primary key (flow_slug, dep_slug, step_slug),
  constraint deps_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug),
  constraint deps_flow_slug_dep_slug_fkey foreign key (flow_slug, dep_slug) references pgflow.steps (flow_slug, step_slug),
  constraint deps_flow_slug_step_slug_fkey foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug),
  constraint deps_check check (dep_slug <> step_slug)
);
create index deps_by_step_idx on pgflow.deps (flow_slug, step_slug);
comment on table pgflow.deps is 'dep_slug → step_slug: the step needs the output of the dependency.';

-- What a startup compile changed, kept so that two versions of the code that undo each other's options are noticed.
create table pgflow.option_changes (
  flow_slug text not null,
  step_slug text not null default '',
  option_name text not null,
  old_value integer,
  new_value integer,
  changed_at timestamptz not null default now(),
  constraint option_changes_pkey primary key (flow_slug, step_slug, option_name),
  constraint option_changes_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug) on delete cascade
);
comment on table pgflow.option_changes is 'The last change of each option at a startup compile; step_slug is empty for a flow''s own.';

-- 20_definition/_apply_input_schema.sql
-- Stores the JSON Schema of the input that the code has now, for forms. It is no part of the shape that is compared.
create function pgflow._apply_input_schema(p_flow_slug text, p_shape jsonb)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.flows f set input_schema = p_shape -> 'inputSchema'
  where f.flow_slug = p_flow_slug and f.input_schema is distinct from p_shape -> 'inputSchema';
  return case when found then array['flow: the input schema changed'] else '{}' end;
end $$;

-- 20_definition/_apply_options.sql
-- Brings the stored options of a flow (p_step_slug null: its own and all steps') or of one step to what the code says,
-- and tells each change. A step worker leaves the flow's own options alone, since other steps live by them: where the code
-- has another one than the database, its step gets that value as its own. Waits have no worker of their own, so any worker
-- brings their options; a flow's option never becomes that of a wait, whose timeout means something else. A value that comes back within an hour means that two versions of the code are running.
create function pgflow._apply_options(p_flow_slug text, p_shape jsonb, p_step_slug text)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_change record;
  v_previous record;
  v_told text[] := '{}';
begin
  for v_change in
    with flow_options as (
      select o.name, coalesce((p_shape #>> array['options', o.name])::integer, o.fallback) as in_code, o.stored
      from pgflow.flows f cross join lateral (values
        ('maxAttempts', 3, f.opt_max_attempts), ('baseDelay', 5, f.opt_base_delay), ('timeout', 60, f.opt_timeout),
        ('maxDelay', null, f.opt_max_delay)
      ) as o(name, fallback, stored) where f.flow_slug = p_flow_slug
    ), wanted as (
      select '' as step_slug, o.name as option_name, o.in_code as value from flow_options o where p_step_slug is null
      union all
      select s.step_slug, o.name, coalesce(
        (s.options ->> o.name)::integer,
        (select x.in_code from flow_options x where x.name = o.name and p_step_slug is not null and s.step_type <> 'wait'
         and x.in_code is distinct from x.stored))
      from pgflow._shape_steps(p_flow_slug, p_shape) s
      cross join (values ('maxAttempts'), ('baseDelay'), ('timeout'), ('maxDelay'), ('startDelay')) as o(name)
      where p_step_slug is null or s.step_slug = p_step_slug or s.step_type = 'wait'
    ), stored as (
      select '' as step_slug, o.name as option_name, o.value
      from pgflow.flows f cross join lateral (values
        ('maxAttempts', f.opt_max_attempts), ('baseDelay', f.opt_base_delay), ('timeout', f.opt_timeout), ('maxDelay', f.opt_max_delay)
      ) as o(name, value) where f.flow_slug = p_flow_slug
      union all
      select s.step_slug, o.name, o.value
      from pgflow.steps s cross join lateral (values
        ('maxAttempts', s.opt_max_attempts), ('baseDelay', s.opt_base_delay), ('timeout', s.opt_timeout),
        ('maxDelay', s.opt_max_delay), ('startDelay', s.opt_start_delay)
      ) as o(name, value) where s.flow_slug = p_flow_slug
    )
    select w.step_slug, w.option_name, s.value as old_value, w.value as new_value
    from wanted w join stored s using (step_slug, option_name)
    where w.value is distinct from s.value
    order by w.step_slug, w.option_name
  loop
    select c.old_value, c.changed_at into v_previous from pgflow.option_changes c
    where c.flow_slug = p_flow_slug and c.step_slug = v_change.step_slug and c.option_name = v_change.option_name;

    v_told := v_told || format('%s: %s changed from %s to %s%s',
      case v_change.step_slug when '' then 'flow' else 'step ' || v_change.step_slug end, v_change.option_name,
      coalesce(v_change.old_value::text, 'unset'), coalesce(v_change.new_value::text, 'unset'),
      case when v_previous.changed_at > pgflow.clock() - interval '1 hour' and v_previous.old_value is not distinct from v_change.new_value
           then ' (drift: it was changed the other way within the last hour, so two versions of this code are running)' else '' end);

    insert into pgflow.option_changes as c (flow_slug, step_slug, option_name, old_value, new_value, changed_at)
    values (p_flow_slug, v_change.step_slug, v_change.option_name, v_change.old_value, v_change.new_value, pgflow.clock())
    on conflict on constraint option_changes_pkey do update
    set old_value = excluded.old_value, new_value = excluded.new_value, changed_at = excluded.changed_at;

    if v_change.step_slug = '' then
      update pgflow.flows f set
        opt_max_attempts = case v_change.option_name when 'maxAttempts' then v_change.new_value else f.opt_max_attempts end,
        opt_base_delay = case v_change.option_name when 'baseDelay' then v_change.new_value else f.opt_base_delay end,
        opt_timeout = case v_change.option_name when 'timeout' then v_change.new_value else f.opt_timeout end,
        opt_max_delay = case v_change.option_name when 'maxDelay' then v_change.new_value else f.opt_max_delay end
      where f.flow_slug = p_flow_slug;
    else
      update pgflow.steps s set
        opt_max_attempts = case v_change.option_name when 'maxAttempts' then v_change.new_value else s.opt_max_attempts end,
        opt_base_delay = case v_change.option_name when 'baseDelay' then v_change.new_value else s.opt_base_delay end,
        opt_timeout = case v_change.option_name when 'timeout' then v_change.new_value else s.opt_timeout end,
        opt_max_delay = case v_change.option_name when 'maxDelay' then v_change.new_value else s.opt_max_delay end,
        opt_start_delay = case v_change.option_name when 'startDelay' then v_change.new_value else s.opt_start_delay end
      where s.flow_slug = p_flow_slug and s.step_slug = v_change.step_slug;
    end if;
  end loop;
  return v_told;
end $$;

-- 20_definition/_check_flow_slug_is_free.sql
-- Queue names are lower-cased, so two flows may not differ in case alone.
create function pgflow._check_flow_slug_is_free(p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_taken text := (select f.flow_slug from pgflow.flows f where lower(f.flow_slug collate "C") = lower(p_flow_slug collate "C"));
begin
  if v_taken is not null then
    perform pgflow._raise('SF117', format('Flow "%s" differs only in case from flow "%s".', p_flow_slug, v_taken),
      'Their queue names are lower-cased, so they would share them.', 'Choose another slug.');
  end if;
end $$;

-- 20_definition/_check_queue_is_free.sql
-- A queue that a new definition wants must be absent, or it would serve two masters. Changes nothing.
create function pgflow._check_queue_is_free(p_queue_name text, p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_listed text;
  v_detail text;
  v_hint text;
begin
  begin
    perform pgmq.validate_queue_name(p_queue_name);
  exception when raise_exception then
    -- In its own words, which callers know; but they do not say whose queue it would be.
    get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
    raise exception using errcode = sqlstate, message = sqlerrm,
      detail = coalesce(nullif(v_detail, ''), format('Flow "%s" would have the queue "%s", of %s characters.', p_flow_slug, p_queue_name, length(p_queue_name))),
      hint = coalesce(nullif(v_hint, ''), 'Choose another concrete flow slug, of at most 47 characters.');
  end;

  select l.queue_name into v_listed from pgmq.list_queues() l where lower(l.queue_name collate "C") = lower(p_queue_name collate "C") limit 1;
  if v_listed is not null then
    perform pgflow._raise('SF110', format('Queue "%s" already exists and is not owned by flow "%s".', p_queue_name, p_flow_slug),
      format('pgmq lists it as "%s".', v_listed),
      case when to_regclass('pgmq.q_' || p_queue_name) is null
           then format('Only the name is left, and no queue behind it: delete from pgmq.meta where queue_name = %L;', v_listed)
           else 'Choose another concrete flow slug, or drop the queue with pgmq.drop_queue once nothing needs it.' end);
  end if;
end $$;

-- 20_definition/_check_queues_exist.sql
-- A route whose queue is gone is said at startup; it is never re-created, since its messages are gone too.
create function pgflow._check_queues_exist(p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_missing record;
begin
  select s.step_slug, s.queue_name into v_missing
  from pgflow._routes s
  where s.flow_slug = p_flow_slug
    -- A restored database lists its queues and does not have them.
    and (not exists (select from pgmq.list_queues() l where lower(l.queue_name collate "C") = s.queue_name)
         or to_regclass(format('pgmq.%I', pgmq.format_table_name(s.queue_name, 'q'))) is null)
  order by s.step_index limit 1;
  if v_missing.step_slug is not null then
    perform pgflow._raise('SF111', format('Queue "%s" of step "%s" in flow "%s" does not exist.', v_missing.queue_name, v_missing.step_slug, p_flow_slug),
      'It was dropped outside Starflow or left out of a dump, and its messages with it. The tasks that they stood for are there.',
      'Make the queues again that are gone, then send the messages of their open tasks again: npx starflow repair, or in SQL: select pgflow.restore_queues(); select pgflow.repair_liveness();');
  end if;
end $$;

-- 20_definition/_check_route_map.sql
-- The caller's route map must be what SQL derives, in order: names are decided here, a client only mirrors them. It may carry the index
-- of each step, as withStepQueues(flow).routes does, or leave it out.
create function pgflow._check_route_map(p_flow_slug text, p_step_slugs text[], p_queue_mode text, p_route_map jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_expected jsonb;
begin
  if p_route_map is null then
    return;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('stepSlug', r.step_slug, 'stepIndex', r.step_index, 'queueName', r.queue_name) order by r.step_index), '[]')
  into v_expected
  from pgflow._derive_routes(p_flow_slug, p_step_slugs, p_queue_mode) r;
  if jsonb_typeof(p_route_map) is distinct from 'array' or jsonb_array_length(p_route_map) <> jsonb_array_length(v_expected) or exists (
    select from jsonb_array_elements(v_expected) with ordinality e(route, ordinal)
    where p_route_map -> (e.ordinal - 1)::integer not in (e.route, e.route - 'stepIndex')) then
    perform pgflow._raise('SF116', format('The route map sent for flow "%s" is not the one that SQL derives.', p_flow_slug),
      format('Derived: %s. Sent: %s.', v_expected, p_route_map),
      'Use matching versions of @starflow/dsl and the database.');
  end if;
end $$;

-- 20_definition/_compare_flow.sql
-- What differs between the persisted definition and the shape, mode and routes of the code, as sentences.
-- kind routing: the queue mode, or the queue of a step that both know. kind shape: everything else.
create function pgflow._compare_flow(p_flow_slug text, p_shape jsonb, p_queue_mode text)
returns table (kind text, difference text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mode text := (select f.queue_mode from pgflow.flows f where f.flow_slug = p_flow_slug);
  v_slugs text[] := pgflow._routed_slugs(p_flow_slug, p_shape);
begin
  if v_mode <> p_queue_mode then
    return query select 'routing', format('The queue mode is "%s" in the database and "%s" in the code.', v_mode, p_queue_mode);
  end if;

  return query
    with code as (
      select s.*, r.queue_name from pgflow._shape_steps(p_flow_slug, p_shape) s
      left join pgflow._derive_routes(p_flow_slug, v_slugs, p_queue_mode) r on r.step_slug = s.step_slug
    ), stored as (
      select s.*, array(select d.dep_slug from pgflow.deps d
                        where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug order by d.dep_slug collate "C") as deps_slugs
      from pgflow.steps s where s.flow_slug = p_flow_slug
    )
    select x.kind, x.difference
    from code c full join stored s on s.step_slug = c.step_slug
    cross join lateral (values
      (0, 'shape', s.step_slug is null, format('Step "%s" at index %s is new in the code.', c.step_slug, c.step_index)),
      (0, 'shape', c.step_slug is null, format('Step "%s" at index %s is not in the code.', s.step_slug, s.step_index)),
      (1, 'shape', c.step_index <> s.step_index, format('Step "%s": index %s in the database, %s in the code.', s.step_slug, s.step_index, c.step_index)),
      (2, 'shape', c.step_type <> s.step_type, format('Step "%s": type %s in the database, %s in the code.', s.step_slug, s.step_type, c.step_type)),
      (3, 'shape', c.deps_slugs <> s.deps_slugs, format('Step "%s": depends on {%s} in the database, {%s} in the code.', s.step_slug, array_to_string(s.deps_slugs, ', '), array_to_string(c.deps_slugs, ', '))),
      (4, 'shape', c.when_unmet <> s.when_unmet, format('Step "%s": whenUnmet is "%s" in the database, "%s" in the code.', s.step_slug, s.when_unmet, c.when_unmet)),
      (5, 'shape', c.when_exhausted <> s.when_exhausted, format('Step "%s": whenExhausted is "%s" in the database, "%s" in the code.', s.step_slug, s.when_exhausted, c.when_exhausted)),
      (6, 'shape', c.step_slug = s.step_slug and c.required_input_pattern is distinct from s.required_input_pattern, format('Step "%s": its if pattern differs.', s.step_slug)),
      (7, 'shape', c.step_slug = s.step_slug and c.forbidden_input_pattern is distinct from s.forbidden_input_pattern, format('Step "%s": its ifNot pattern differs.', s.step_slug)),
      (8, 'routing', v_mode = p_queue_mode and s.step_type <> 'wait' and c.queue_name <> s.queue_name, format('Step "%s": queue "%s" in the database, "%s" in the code.', s.step_slug, s.queue_name, c.queue_name))
    ) as x(rank, kind, differs, difference)
    where x.differs
    order by coalesce(s.step_index, c.step_index), x.rank;
end $$;

-- 20_definition/_compile_flow.sql
-- Creates a flow that does not exist, whole or not at all. Every check comes before the first change.
create function pgflow._compile_flow(p_flow_slug text, p_shape jsonb, p_queue_mode text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slugs text[] := pgflow._routed_slugs(p_flow_slug, p_shape);
  v_queue text;
  v_queues text[];
  v_step record;
begin
  perform pgflow._check_flow_slug_is_free(p_flow_slug);
  if p_queue_mode = 'step' and cardinality(array_remove(v_slugs, null)) = 0 then
    perform pgflow._raise('SF103',
      format('Flow "%s" has no steps%s, so it cannot use per-step queues.', p_flow_slug, case when cardinality(v_slugs) > 0 then ' but waits' else '' end),
      'A step-queued flow has one queue per step; this one would have none.', 'Add its steps before withStepQueues(flow).');
  end if;
  v_queues := case when p_queue_mode = 'flow' then array[lower(p_flow_slug collate "C")]
                   else array(select r.queue_name from pgflow._derive_routes(p_flow_slug, v_slugs, p_queue_mode) r order by r.step_index) end;
  foreach v_queue in array v_queues loop
    perform pgflow._check_queue_is_free(v_queue, p_flow_slug);
  end loop;

  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout, opt_max_delay, queue_mode, input_schema, compiled_at)
  values (p_flow_slug, coalesce((p_shape #>> '{options,maxAttempts}')::integer, 3), coalesce((p_shape #>> '{options,baseDelay}')::integer, 5),
          coalesce((p_shape #>> '{options,timeout}')::integer, 60), (p_shape #>> '{options,maxDelay}')::integer, p_queue_mode,
          p_shape -> 'inputSchema', pgflow.clock());
  foreach v_queue in array v_queues loop
    perform pgflow._create_private_queue(v_queue);
  end loop;
  for v_step in
    select s.*, coalesce(r.queue_name, lower(p_flow_slug collate "C")) as queue_name from pgflow._shape_steps(p_flow_slug, p_shape) s
    left join pgflow._derive_routes(p_flow_slug, v_slugs, p_queue_mode) r on r.step_slug = s.step_slug
    order by s.step_index
  loop
    perform pgflow._insert_step(
      p_flow_slug, v_step.step_slug, v_step.step_index, v_step.queue_name, v_step.deps_slugs, v_step.step_type,
      (v_step.options ->> 'maxAttempts')::integer, (v_step.options ->> 'baseDelay')::integer,
      (v_step.options ->> 'maxDelay')::integer, (v_step.options ->> 'timeout')::integer,
      (v_step.options ->> 'startDelay')::integer, v_step.required_input_pattern, v_step.forbidden_input_pattern,
      v_step.when_unmet, v_step.when_exhausted);
  end loop;
end $$;

-- 20_definition/_create_private_queue.sql
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

-- 20_definition/_deletion_lock.sql
-- The key of the advisory lock that a deletion of the flow takes exclusively, and whoever makes or reads its messages
-- shares: starts wait for it, claims only try. Without it a deletion, which drops one queue after the other, and a call
-- that works on two of them would wait for each other.
create function pgflow._deletion_lock(p_flow_slug text)
returns bigint
language sql immutable
as $$
  select hashtextextended('pgflow.deletion:' || lower(p_flow_slug collate "C"), 0)
$$;

-- 20_definition/_derive_routes.sql
-- The canonical names: which queue serves each step of p_step_slugs (in order; null: a wait, which has no queue and keeps
-- its place). Nothing is truncated or hashed. The
-- dsl's queue-name.ts is the twin; both run packages/dsl/vectors/names.json.
-- 47 is pgmq's own limit: template_pgmq_q_ (16) + 47 = 63, the longest identifier of Postgres.
create function pgflow._derive_routes(p_flow_slug text, p_step_slugs text[], p_queue_mode text)
returns table (step_slug text, step_index integer, queue_name text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_max constant integer := 47;
  v_step record;
begin
  if p_queue_mode = 'flow' then
    return query
      select s.slug, (s.ordinal - 1)::integer, lower(p_flow_slug collate "C")
      from unnest(p_step_slugs) with ordinality as s(slug, ordinal)
      where s.slug is not null;
    return;
  end if;

  if length(p_flow_slug || '__0') > v_max then
    perform pgflow._raise('SF101',
      format('Flow "%s" cannot use per-step queues.', p_flow_slug),
      format('The shortest required queue "%s__0" is %s characters; PGMQ allows at most %s.',
             p_flow_slug, length(p_flow_slug || '__0'), v_max),
      'Shorten the concrete flow slug or use the default single queue.');
  end if;

  for v_step in
    select s.slug, (s.ordinal - 1)::integer as index,
           lower((p_flow_slug || '__' || s.slug) collate "C") as readable,
           lower((p_flow_slug || '__' || (s.ordinal - 1)) collate "C") as fallback
    from unnest(p_step_slugs) with ordinality as s(slug, ordinal)
    where s.slug is not null
    order by s.ordinal
  loop
    step_slug := v_step.slug;
    step_index := v_step.index;
    queue_name := case when length(v_step.readable) <= v_max then v_step.readable
                       when length(v_step.fallback) <= v_max then v_step.fallback end;
    if queue_name is null then
      perform pgflow._raise('SF102',
        format('Cannot derive a queue for step "%s" at index %s in flow "%s".', v_step.slug, v_step.index, p_flow_slug),
        format('The readable name is %s characters and the index fallback is %s; PGMQ allows at most %s.',
               length(v_step.readable), length(v_step.fallback), v_max),
        'Shorten the concrete flow slug, shorten the step slug enough for the readable name, or use the default single queue.');
    end if;
    return next;
  end loop;
end $$;

-- 20_definition/_drain_flow.sql
-- Tells the live workers of a flow to stop and answers how many are still alive. A released worker writes the slug of its flow,
-- in its own case, as the name of its queue.
create function pgflow._drain_flow(p_flow_slug text)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queues text[] := pgflow._flow_queues(p_flow_slug);
begin
  update pgflow.workers w set deprecated_at = pgflow.clock()
  from (
    select x.worker_id from pgflow.workers x
    where lower(x.queue_name collate "C") = any (v_queues) and x.deprecated_at is null and x.stopped_at is null
    order by x.worker_id for no key update
  ) told
  where w.worker_id = told.worker_id;
  return (select count(*) from pgflow.workers w
          where lower(w.queue_name collate "C") = any (v_queues)
            and pgflow._heartbeat_is_fresh(w));
end $$;

-- 20_definition/_drop_private_queue.sql
-- Drops a queue and its archive by the spelling that pgmq lists. A queue somebody dropped by hand is a NOTICE, not an
-- error: deleting a flow must stay possible.
create function pgflow._drop_private_queue(p_queue_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_listed text[];
begin
  select array_agg(l.queue_name::text) into v_listed from pgmq.list_queues() l where lower(l.queue_name collate "C") = lower(p_queue_name collate "C");
  if v_listed is null then
    raise notice 'queue "%" was already gone', p_queue_name;
  elsif cardinality(v_listed) > 1 then
    perform pgflow._raise('SF110', format('Queue "%s" is listed under several spellings.', p_queue_name),
      'pgmq lists ' || array_to_string(v_listed, ', ') || ', which all name the same tables.',
      format('Drop none of them: their messages would go. Take the other names off the list, as their owner: delete from pgmq.meta where lower(queue_name collate "C") = %L and queue_name <> %L;',
             lower(p_queue_name collate "C"), lower(p_queue_name collate "C")));
  else
    perform pgmq.drop_queue(v_listed[1]);
  end if;
end $$;

-- 20_definition/_flow_queues.sql
-- The queues of a flow: those of its persisted routes, and the default queue of a plain flow, which it has without steps too.
create function pgflow._flow_queues(p_flow_slug text)
returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select s.queue_name from pgflow._routes s where s.flow_slug = p_flow_slug
    union
    select lower(f.flow_slug collate "C") from pgflow.flows f where f.flow_slug = p_flow_slug and f.queue_mode = 'flow'
    order by 1);
end $$;

-- 20_definition/_insert_step.sql
-- Writes one step with its route and dependencies. The caller holds the flow's lock and has created the queue.
create function pgflow._insert_step(
  p_flow_slug text, p_step_slug text, p_step_index integer, p_queue_name text, p_deps_slugs text[], p_step_type text,
  p_max_attempts integer, p_base_delay integer, p_max_delay integer, p_timeout integer, p_start_delay integer,
  p_required_input_pattern jsonb, p_forbidden_input_pattern jsonb, p_when_unmet text, p_when_exhausted text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_step_type = 'map' and cardinality(p_deps_slugs) > 1 then
    raise exception 'Map step "%" can have at most one dependency, but % were provided: %',
      p_step_slug, cardinality(p_deps_slugs), array_to_string(p_deps_slugs, ', ');
  end if;
  insert into pgflow.steps (
    flow_slug, step_slug, step_type, step_index, deps_count, opt_max_attempts, opt_base_delay, opt_max_delay,
    opt_timeout, opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted, queue_name)
  values (
    p_flow_slug, p_step_slug, p_step_type, p_step_index, cardinality(p_deps_slugs), p_max_attempts, p_base_delay,
    p_max_delay, p_timeout, p_start_delay, p_required_input_pattern, p_forbidden_input_pattern, p_when_unmet,
    p_when_exhausted, p_queue_name);
  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select p_flow_slug, d.slug, p_step_slug from unnest(p_deps_slugs) d(slug);
  if p_step_type = 'map' then
    update pgflow.steps s set feeds_map = true where s.flow_slug = p_flow_slug and s.step_slug = any (p_deps_slugs);
  end if;
end $$;

-- 20_definition/_lock_flow.sql
-- One writer at a time of the definition of a concrete slug, in every spelling: first in the lock order.
create function pgflow._lock_flow(p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('pgflow.flow:' || lower(p_flow_slug collate "C"), 0));
end $$;

-- 20_definition/_raise_duplicate_step.sql
-- One text for a second step of a slug, in a shape and in add_step; the dsl's DuplicateStepSlugError says the same.
create function pgflow._raise_duplicate_step(p_flow_slug text, p_step_slug text, p_existing_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._raise('SF104',
    format('Flow "%s" already has a step "%s"', p_flow_slug, p_existing_slug)
      || case when p_step_slug = p_existing_slug then '.' else format(', which differs from "%s" only in case.', p_step_slug) end,
    'Step slugs are unique within a flow, whatever their case, because queue names are lowercase.',
    'Give one of the two steps another slug.');
end $$;

-- 20_definition/_routed_slugs.sql
-- The slugs of a shape's steps in order, null in the place of a wait: what _derive_routes takes.
create function pgflow._routed_slugs(p_flow_slug text, p_shape jsonb)
returns text[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select case when s.step_type <> 'wait' then s.step_slug end
    from pgflow._shape_steps(p_flow_slug, p_shape) s order by s.step_index);
end $$;

-- 20_definition/_shape_steps.sql
-- A shape's steps as rows, in order, with what an older shape leaves out filled in. Raises SF118 where the JSON is
-- not a shape, SF106 where a slug breaks the contract, SF104 for a duplicate, SF112 for a dependency that is not an earlier step.
create function pgflow._shape_steps(p_flow_slug text, p_shape jsonb)
returns table (
  step_index integer, step_slug text, step_type text, deps_slugs text[], when_unmet text, when_exhausted text,
  required_input_pattern jsonb, forbidden_input_pattern jsonb, options jsonb)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  if jsonb_typeof(p_shape -> 'steps') is distinct from 'array' then
    perform pgflow._raise('SF118', format('The shape of flow "%s" has no list of steps.', p_flow_slug),
      format('"steps" is %s.', coalesce(jsonb_typeof(p_shape -> 'steps'), 'missing')), 'Send what extractFlowShape(flow) returns.');
  end if;

  select e.value, e.ordinality - 1 as index into v_bad
  from jsonb_array_elements(p_shape -> 'steps') with ordinality e
  where jsonb_typeof(e.value) <> 'object' or not pgflow.is_valid_slug(e.value ->> 'slug')
  order by e.ordinality limit 1;
  if v_bad.index is not null then
    perform pgflow._raise('SF106', format('Step %s of flow "%s" has no valid slug: "%s".', v_bad.index, p_flow_slug, v_bad.value ->> 'slug'),
      'A slug starts with a letter, ends with a letter or digit and holds letters, digits and single underscores, at most 128 characters; "run" is reserved.',
      'Rename the step.');
  end if;

  select (array_agg(e.value ->> 'slug' order by e.ordinality))[1:2] as slugs into v_bad
  from jsonb_array_elements(p_shape -> 'steps') with ordinality e
  group by lower((e.value ->> 'slug') collate "C") having count(*) > 1
  order by min(e.ordinality) limit 1;
  if v_bad.slugs is not null then
    perform pgflow._raise_duplicate_step(p_flow_slug, v_bad.slugs[2], v_bad.slugs[1]);
  end if;

  select e.value ->> 'slug' as step_slug, d.value as dep_slug into v_bad
  from jsonb_array_elements(p_shape -> 'steps') with ordinality e
  cross join lateral jsonb_array_elements_text(coalesce(e.value -> 'dependencies', '[]')) d
  where not exists (
    select from jsonb_array_elements(p_shape -> 'steps') with ordinality earlier
    where earlier.ordinality < e.ordinality and earlier.value ->> 'slug' = d.value)
  limit 1;
  if v_bad.step_slug is not null then
    perform pgflow._raise('SF112', format('Step "%s" of flow "%s" depends on "%s", which is not an earlier step.', v_bad.step_slug, p_flow_slug, v_bad.dep_slug),
      'The steps of a shape are in the order of their definition: ' || (
        select string_agg(e.value ->> 'slug', ', ' order by e.ordinality) from jsonb_array_elements(p_shape -> 'steps') with ordinality e) || '.',
      'Define a step after everything it depends on.');
  end if;

  return query
    select (e.ordinality - 1)::integer, e.value ->> 'slug', coalesce(e.value ->> 'stepType', 'single'),
           array(select d.value from jsonb_array_elements_text(coalesce(e.value -> 'dependencies', '[]')) d order by d.value collate "C"),
           coalesce(e.value ->> 'whenUnmet', 'skip'), coalesce(e.value ->> 'whenExhausted', 'fail'),
           case when (e.value #>> '{requiredInputPattern,defined}')::boolean then e.value #> '{requiredInputPattern,value}' end,
           case when (e.value #>> '{forbiddenInputPattern,defined}')::boolean then e.value #> '{forbiddenInputPattern,value}' end,
           coalesce(e.value -> 'options', '{}')
    from jsonb_array_elements(p_shape -> 'steps') with ordinality e;
end $$;

-- 20_definition/add_step.sql
-- Takes the flow's lock, so that two callers never compute the same index. Idempotent like create_flow.
create function pgflow.add_step(
  flow_slug text, step_slug text, deps_slugs text[] default '{}', max_attempts integer default null,
  base_delay integer default null, timeout integer default null, start_delay integer default null,
  step_type text default 'single', required_input_pattern jsonb default null, forbidden_input_pattern jsonb default null,
  when_unmet text default 'skip', when_exhausted text default 'fail', max_delay integer default null)
returns pgflow.steps
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step pgflow.steps;
  v_mode text;
  v_existing text;
begin
  perform pgflow._lock_flow(add_step.flow_slug);
  select * into v_step from pgflow.steps s where s.flow_slug = add_step.flow_slug and s.step_slug = add_step.step_slug;
  if v_step.step_slug is not null then
    return v_step;
  end if;
  select f.queue_mode into v_mode from pgflow.flows f where f.flow_slug = add_step.flow_slug;
  if v_mode = 'step' then
    perform pgflow._raise('SF116', format('Flow "%s" has one queue per step: its steps are compiled together.', add_step.flow_slug),
      'A queue may be named by the index of its step, so a step that is added later could not be told from a renamed one.', 'Use ensure_flow_compiled with the complete shape, under a new concrete slug.');
  end if;
  select s.step_slug into v_existing from pgflow.steps s
  where s.flow_slug = add_step.flow_slug and lower(s.step_slug collate "C") = lower(add_step.step_slug collate "C");
  if v_existing is not null then
    perform pgflow._raise_duplicate_step(add_step.flow_slug, add_step.step_slug, v_existing);
  end if;
  perform pgflow._insert_step(
    add_step.flow_slug, add_step.step_slug,
    (select coalesce(max(s.step_index) + 1, 0) from pgflow.steps s where s.flow_slug = add_step.flow_slug),
    lower(add_step.flow_slug collate "C"), coalesce(deps_slugs, '{}'), add_step.step_type, max_attempts, base_delay, max_delay, timeout,
    start_delay, add_step.required_input_pattern, add_step.forbidden_input_pattern, add_step.when_unmet, add_step.when_exhausted);
  select * into v_step from pgflow.steps s where s.flow_slug = add_step.flow_slug and s.step_slug = add_step.step_slug;
  return v_step;
end $$;
comment on function pgflow.add_step(text, text, text[], integer, integer, integer, integer, text, jsonb, jsonb, text, text, integer) is
  'Adds a step at the end of a plain flow: single, map or wait. Delays and timeouts are seconds.';

-- 20_definition/create_flow.sql
-- Takes the flow's lock. Idempotent: an existing flow is returned as it is, options included.
create function pgflow.create_flow(
  flow_slug text, max_attempts integer default null, base_delay integer default null, timeout integer default null,
  max_delay integer default null)
returns pgflow.flows
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow pgflow.flows;
begin
  perform pgflow._lock_flow(create_flow.flow_slug);
  select * into v_flow from pgflow.flows f where f.flow_slug = create_flow.flow_slug;
  if v_flow.flow_slug is not null then
    return v_flow;
  end if;
  perform pgflow._check_flow_slug_is_free(create_flow.flow_slug);
  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout, opt_max_delay)
  values (create_flow.flow_slug, coalesce(max_attempts, 3), coalesce(base_delay, 5), coalesce(timeout, 60), max_delay)
  returning * into v_flow;
  perform pgflow._check_queue_is_free(lower(create_flow.flow_slug collate "C"), create_flow.flow_slug);
  perform pgflow._create_private_queue(lower(create_flow.flow_slug collate "C"));
  return v_flow;
end $$;
comment on function pgflow.create_flow(text, integer, integer, integer, integer) is
  'Defines a plain flow and its default queue lower(flow_slug). Defaults: 3 attempts, base delay 5 s, timeout 60 s.';

-- 20_definition/delete_flow_and_data.sql
-- Takes the flow's locks, which keep starts and claims away, and then its runs, which settlements hold while they work on
-- its queues: only then is nobody left who could wait for one queue and hold another. Queues go by their persisted routes
-- (an empty plain flow has only its default queue); a queue that pgmq cannot drop rolls everything back. Messages are not
-- archived first: their archive goes with them.
create function pgflow.delete_flow_and_data(p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue text;
begin
  perform pgflow._lock_flow(p_flow_slug);
  perform pg_advisory_xact_lock(pgflow._deletion_lock(p_flow_slug));
  perform from pgflow.runs r where r.flow_slug = p_flow_slug order by r.run_id for update;
  foreach v_queue in array pgflow._flow_queues(p_flow_slug) loop
    perform pgflow._drop_private_queue(v_queue);
  end loop;
  delete from pgflow.parked_tasks p using pgflow.runs r where r.run_id = p.run_id and r.flow_slug = p_flow_slug;
  delete from pgflow.step_tasks t using pgflow.runs r where r.run_id = t.run_id and r.flow_slug = p_flow_slug;
  delete from pgflow.step_states s using pgflow.runs r where r.run_id = s.run_id and r.flow_slug = p_flow_slug;
  delete from pgflow.runs r where r.flow_slug = p_flow_slug;
  delete from pgflow.deps d where d.flow_slug = p_flow_slug;
  delete from pgflow.steps s where s.flow_slug = p_flow_slug;
  delete from pgflow.flows f where f.flow_slug = p_flow_slug;
end $$;
comment on function pgflow.delete_flow_and_data(text) is 'Deletes a flow, its runs, queues and archives, in one transaction. There is no way back.';

-- 20_definition/ensure_flow_compiled.sql
-- A worker's first act. Takes the flow's lock, then compares, then changes at most one flow.
--   missing                      → compiled, everything or nothing
--   equal                        → verified; options and input schema of the code are applied (step_slug: only options of that
--                                  step and of waits, which have no worker of their own)
--   different, production        → mismatch, nothing changed
--   different, is_local()        → draining while a worker of the flow lives, then recompiled from nothing
-- code_age: how long ago the caller's code was loaded; older code than the last compile never compiles its shape back.
create function pgflow.ensure_flow_compiled(
  flow_slug text, shape jsonb, queue_mode text default 'flow', route_map jsonb default null,
  step_slug text default null, code_age interval default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slugs text[];
  v_routed_slugs text[];
  v_status text;
  v_flow pgflow.flows;
  v_differences text[] := '{}';
  v_kind text;
  v_options text[] := '{}';
  v_deleted bigint;
begin
  if ensure_flow_compiled.queue_mode is null or ensure_flow_compiled.queue_mode not in ('flow', 'step') then
    perform pgflow._raise('SF118', format('Queue mode "%s" is not known.', ensure_flow_compiled.queue_mode),
      'flow: all steps share one queue. step: each has a queue of its own.', 'Use flow or step.');
  end if;
  if not pgflow.is_valid_slug(ensure_flow_compiled.flow_slug) then
    perform pgflow._raise('SF106', format('"%s" is not a valid flow slug.', ensure_flow_compiled.flow_slug),
      'A slug starts with a letter, ends with a letter or digit and holds letters, digits and single underscores, at most 128 characters; "run" is reserved.',
      'Rename the flow.');
  end if;
  v_slugs := array(select s.step_slug from pgflow._shape_steps(ensure_flow_compiled.flow_slug, shape) s order by s.step_index);
  v_routed_slugs := pgflow._routed_slugs(ensure_flow_compiled.flow_slug, shape);
  perform pgflow._check_route_map(ensure_flow_compiled.flow_slug, v_routed_slugs, ensure_flow_compiled.queue_mode, route_map);
  if ensure_flow_compiled.step_slug is not null and not ensure_flow_compiled.step_slug = any (v_slugs) then
    perform pgflow._raise('SF107', format('Flow "%s" has no step "%s".', ensure_flow_compiled.flow_slug, ensure_flow_compiled.step_slug),
      'Steps: ' || array_to_string(v_slugs, ', ') || '.', 'Use one of these; their case counts.');
  elsif ensure_flow_compiled.step_slug is not null and array_position(v_routed_slugs, ensure_flow_compiled.step_slug) is null then
    perform pgflow._raise('SF119', format('Step "%s" of flow "%s" is a wait: no worker runs it.', ensure_flow_compiled.step_slug, ensure_flow_compiled.flow_slug),
      'A wait has no queue. It ends when it is resumed with a token, or at its timeout.',
      coalesce('Steps that workers run: ' || nullif(array_to_string(v_routed_slugs, ', '), '') || '.', 'No step of this flow is run by a worker.'));
  end if;

  perform pgflow._lock_flow(ensure_flow_compiled.flow_slug);
  select * into v_flow from pgflow.flows f where f.flow_slug = ensure_flow_compiled.flow_slug;

  if v_flow.flow_slug is null then
    perform pgflow._compile_flow(ensure_flow_compiled.flow_slug, shape, ensure_flow_compiled.queue_mode);
    v_status := 'compiled';
  else
    select coalesce(array_agg(c.difference), '{}'),
           case when bool_or(c.kind = 'routing') then 'routing' when count(*) > 0 then 'shape' end
    into v_differences, v_kind
    from pgflow._compare_flow(ensure_flow_compiled.flow_slug, shape, ensure_flow_compiled.queue_mode) c;

    if v_kind is null then
      perform pgflow._check_queues_exist(ensure_flow_compiled.flow_slug);
      v_options := pgflow._apply_options(ensure_flow_compiled.flow_slug, shape, ensure_flow_compiled.step_slug)
        || pgflow._apply_input_schema(ensure_flow_compiled.flow_slug, shape);
      v_status := 'verified';
    elsif not pgflow.is_local() or pgflow.clock() - code_age < v_flow.compiled_at then
      v_status := 'mismatch';
    elsif pgflow._drain_flow(ensure_flow_compiled.flow_slug) > 0 then
      v_status := 'draining';
    else
      select count(*) into v_deleted from pgflow.runs r where r.flow_slug = ensure_flow_compiled.flow_slug;
      perform pgflow.delete_flow_and_data(ensure_flow_compiled.flow_slug);
      perform pgflow._compile_flow(ensure_flow_compiled.flow_slug, shape, ensure_flow_compiled.queue_mode);
      v_options := array[format('%s runs of the old definition were deleted with their queues', v_deleted)];
      v_status := 'recompiled';
    end if;
  end if;

  return jsonb_build_object(
    'status', v_status, 'mismatchKind', v_kind, 'differences', to_jsonb(v_differences), 'options', to_jsonb(v_options),
    'routes', (select coalesce(jsonb_agg(jsonb_build_object('stepSlug', s.step_slug, 'stepIndex', s.step_index, 'queueName', s.queue_name)
                                         order by s.step_index), '[]')
               from pgflow._routes s where s.flow_slug = ensure_flow_compiled.flow_slug));
end $$;
comment on function pgflow.ensure_flow_compiled(text, jsonb, text, jsonb, text, interval) is
  'Compiles or verifies a concrete flow at a worker''s start: {status: compiled|verified|recompiled|mismatch|draining, mismatchKind: null|shape|routing, differences[], options[], routes[]}.';

-- 30_queue/00_types.sql
create type pgflow.step_task_record as (
  flow_slug text, run_id uuid, step_slug text, input jsonb, msg_id bigint, task_index integer, flow_input jsonb
);
-- What a queue worker's call answers, one row a fact: claimed, refused, or the worker's state.
create type pgflow.message_item as (
  kind text, msg_id bigint, read_ct integer, forgiven_count integer, enqueued_at timestamptz, message jsonb, headers jsonb, reason text
);

-- 30_queue/01_tables.sql
-- Messages of queues without a flow that no worker could handle; redrive_dead_letters sends them again.
create table pgflow.dead_letters (
  dead_letter_id bigint generated always as identity,
  queue_name text not null,
  message_id bigint not null,
  message jsonb,
  headers jsonb,
  read_count integer not null,
  enqueued_at timestamptz not null,
  worker_id uuid,
  error_name text,
  error_message text not null,
  error_stack text,
  dead_at timestamptz not null default now(),
  constraint dead_letters_pkey primary key (dead_letter_id)
);
create index dead_letters_queue_name_idx on pgflow.dead_letters (queue_name, dead_letter_id);
comment on table pgflow.dead_letters is 'Messages of queues without a flow whose retries were used up or whose error was permanent, each with its last error.';

-- Reads that must not count as attempts. pgmq's read_ct only grows, and it is the fencing token of a message: what a
-- worker gives back unstarted is therefore remembered here, until the message ends. Nearly always empty.
create table pgflow.forgiven_reads (
  queue_name text not null,
  message_id bigint not null,
  read_count integer not null,
  constraint forgiven_reads_pkey primary key (queue_name, message_id, read_count)
);
comment on table pgflow.forgiven_reads is 'Reads of a message that were given back before its handler began.';

-- 30_queue/_dead_letter_messages.sql
-- Moves the messages of the reports with status dead out of their queue; answers their ids. p_reports: those that were
-- accepted, whose messages the caller has locked.
create function pgflow._dead_letter_messages(p_worker_id uuid, p_queue_name text, p_reports jsonb)
returns bigint[]
language plpgsql
as $$
declare
  v_dead bigint[];
begin
  select array_agg(u.message_id) into v_dead
  from jsonb_to_recordset(p_reports) u(message_id bigint, status text) where u.status = 'dead';
  if v_dead is null then
    return '{}';
  end if;
  execute format(
    'insert into pgflow.dead_letters
       (queue_name, message_id, message, headers, read_count, enqueued_at, worker_id, error_name, error_message, error_stack, dead_at)
     select $1, q.msg_id, q.message, q.headers, q.read_ct, q.enqueued_at, $2, u.error ->> ''name'',
            coalesce(u.error_message, ''No reason was given.''), u.error ->> ''stack'', pgflow.clock()
     from pgmq.%I q
     join jsonb_to_recordset($3) u(message_id bigint, status text, error_message text, error jsonb) on u.message_id = q.msg_id
     where u.status = ''dead'' order by q.msg_id', pgmq.format_table_name(p_queue_name, 'q'))
  using p_queue_name, p_worker_id, p_reports;
  perform pgmq.delete(p_queue_name, v_dead);
  return v_dead;
end $$;

-- 30_queue/_settle_messages.sql
-- Settles reports about messages and tells which were refused. All or nothing: a message is archived, given a new time,
-- or moved to the dead letters in this one transaction. Locks only messages, by id.
create function pgflow._settle_messages(p_worker_id uuid, p_queue_name text, p_reports jsonb)
returns setof pgflow.message_item
language plpgsql
as $$
declare
  v_table text := pgmq.format_table_name(p_queue_name, 'q');
  v_held bigint[];
  v_read_counts integer[];
  v_accepted jsonb;
  v_ended bigint[];
  v_ids bigint[];
  v_delays integer[];
begin
  execute format(
    'select array_agg(h.msg_id), array_agg(h.read_ct) from (
       select q.msg_id, q.read_ct from pgmq.%I q
       join jsonb_to_recordset($1) u(message_id bigint, read_count integer) on q.msg_id = u.message_id and q.read_ct = u.read_count
       order by q.msg_id for update of q) h', v_table) into v_held, v_read_counts using p_reports;

  -- By id and count: one call may carry the report of a read that was lost beside that of the read which counts.
  select jsonb_agg(u.value) into v_accepted
  from jsonb_array_elements(p_reports) u
  join unnest(v_held, v_read_counts) h(msg_id, read_ct)
    on h.msg_id = (u.value ->> 'message_id')::bigint and h.read_ct = (u.value ->> 'read_count')::integer
  where u.value ->> 'status' in ('completed', 'retry', 'dead', 'released');

  if v_accepted is not null then
    select array_agg(u.message_id) filter (where u.status = 'completed'),
           array_agg(u.message_id order by u.message_id) filter (where u.status in ('retry', 'released')),
           array_agg(greatest(coalesce(u.retry_delay, 0), 0) order by u.message_id)
             filter (where u.status in ('retry', 'released'))
    into v_ended, v_ids, v_delays
    from jsonb_to_recordset(v_accepted) u(message_id bigint, status text, retry_delay integer);

    if v_ended is not null then
      perform pgmq.archive(p_queue_name, v_ended);
    end if;
    perform pgflow.set_vt_batch(p_queue_name, v_ids, v_delays);
    insert into pgflow.forgiven_reads (queue_name, message_id, read_count)
    select p_queue_name, u.message_id, u.read_count
    from jsonb_to_recordset(v_accepted) u(message_id bigint, read_count integer, status text)
    where u.status = 'released'
    on conflict on constraint forgiven_reads_pkey do nothing;
    v_ended := v_ended || pgflow._dead_letter_messages(p_worker_id, p_queue_name, v_accepted);
    delete from pgflow.forgiven_reads f where f.queue_name = p_queue_name and f.message_id = any (v_ended);
  end if;

  return query execute format(
    'select ''refused'', u.message_id, u.read_count, null::integer, null::timestamptz, null::jsonb, null::jsonb,
            case when u.status is null or u.status not in (''completed'', ''retry'', ''dead'', ''released'') then ''unknown status''
                 when q.msg_id is null then ''the message is gone'' else ''somebody else has read the message since'' end
     from jsonb_to_recordset($1) u(message_id bigint, read_count integer, status text)
     left join pgmq.%I q on q.msg_id = u.message_id
     where not exists (
       select from jsonb_to_recordset($2) a(message_id bigint, read_count integer)
       where a.message_id = u.message_id and a.read_count = u.read_count)', v_table)
  using p_reports, coalesce(v_accepted, '[]');
end $$;

-- 30_queue/extend_messages.sql
-- Called by a queue worker while handlers run. Answers the ids that it still holds: a message that is missing from the
-- answer was read by somebody else since, or has ended.
create function pgflow.extend_messages(queue_name text, messages jsonb, visibility_timeout integer)
returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held bigint[];
begin
  execute format(
    'select array_agg(h.msg_id) from (
       select q.msg_id from pgmq.%I q
       join jsonb_to_recordset($1) u(message_id bigint, read_count integer) on q.msg_id = u.message_id and q.read_ct = u.read_count
       order by q.msg_id for update of q) h', pgmq.format_table_name(extend_messages.queue_name, 'q'))
  into v_held using messages;
  if v_held is null then
    return;
  end if;
  return query
    select v.msg_id
    from pgflow.set_vt_batch(extend_messages.queue_name, v_held, array_fill(visibility_timeout, array[cardinality(v_held)])) v;
end $$;
comment on function pgflow.extend_messages(text, jsonb, integer) is
  'Hides messages that a queue worker holds for another visibility_timeout seconds: [{message_id, read_count}]. Answers the ids it still holds.';

-- 30_queue/find_worker_queue.sql
-- A queue worker's first act. It must be there already: a queue made by the start of a worker would hide a misspelt name.
create function pgflow.find_worker_queue(queue_name text)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := lower(find_worker_queue.queue_name collate "C");
  v_owner record;
begin
  select s.flow_slug, s.step_slug into v_owner from pgflow._routes s where s.queue_name = v_name order by s.step_index limit 1;
  if v_owner.flow_slug is not null then
    perform pgflow._raise('SF411', format('Queue "%s" belongs to flow "%s".', v_name, v_owner.flow_slug),
      'A queue worker would take the messages away from the tasks they stand for.',
      format('Start a worker of flow "%s" instead, or give this worker a queue of its own.', v_owner.flow_slug));
  end if;
  if not exists (select from pgmq.list_queues() q where lower(q.queue_name collate "C") = v_name) then
    perform pgflow._raise('SF410', format('There is no queue "%s".', v_name),
      coalesce('Queues without a flow: ' || (
        select string_agg(l.queue_name, ', ' order by l.queue_name)
        from (select q.queue_name::text from pgmq.list_queues() q
              where lower(q.queue_name collate "C") not in (select s.queue_name from pgflow._routes s) order by 1 limit 20) l) || '.',
        'There are no queues without a flow.'),
      format('Create it in a migration: select pgmq.create(%L);', v_name));
  end if;
  return v_name;
end $$;
comment on function pgflow.find_worker_queue(text) is 'The name under which a queue worker polls: lower case, existing, of no flow.';

-- 30_queue/poll_for_tasks.sql
create function pgflow.poll_for_tasks(
  queue_name text, vt integer, qty integer, max_poll_seconds integer default 5, poll_interval_ms integer default 100)
returns setof pgflow.step_task_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise notice 'poll_for_tasks is deprecated and returns nothing: use claim_tasks';
end $$;
comment on function pgflow.poll_for_tasks(text, integer, integer, integer, integer) is 'Deprecated: returns nothing. Use claim_tasks.';

-- 30_queue/redrive_dead_letters.sql
-- Each call takes the letters that nobody else takes at the same time, and sends each once, in the order they died.
create function pgflow.redrive_dead_letters(queue_name text, message_ids bigint[] default null)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letter record;
  v_flow_slug text;
  v_sent integer := 0;
begin
  select s.flow_slug into v_flow_slug from pgflow._routes s where s.queue_name = lower(redrive_dead_letters.queue_name collate "C") limit 1;
  if v_flow_slug is not null then
    perform pgflow._raise('SF411', format('Queue "%s" belongs to flow "%s" and has no dead letters.', lower(redrive_dead_letters.queue_name collate "C"), v_flow_slug),
      'Only queues without a flow have them. A task of a flow that uses up its attempts is failed, and its run tells it.',
      'Try a failed run again: select pgflow.retry_run(''<run_id>'');');
  end if;
  perform pgflow.find_worker_queue(redrive_dead_letters.queue_name);
  for v_letter in
    with taken as (
      delete from pgflow.dead_letters d using (
        select l.dead_letter_id from pgflow.dead_letters l
        where l.queue_name = lower(redrive_dead_letters.queue_name collate "C")
          and (message_ids is null or l.message_id = any (message_ids))
        for update skip locked
      ) chosen
      where d.dead_letter_id = chosen.dead_letter_id
      returning d.dead_letter_id, d.message, d.headers
    )
    select * from taken t order by t.dead_letter_id
  loop
    perform pgmq.send(lower(redrive_dead_letters.queue_name collate "C"), v_letter.message, v_letter.headers);
    v_sent := v_sent + 1;
  end loop;
  return v_sent;
end $$;
comment on function pgflow.redrive_dead_letters(text, bigint[]) is
  'Sends dead letters of a queue again, all or those of the given messages, as new messages. Returns how many.';

-- 30_queue/set_vt_batch.sql
-- pgmq sets the visibility of one message a call; claiming and retrying need it for a batch in one statement. The one
-- place, with archive pruning, that writes a queue table directly.
create function pgflow.set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets integer[])
returns table (msg_id bigint, read_ct integer, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if msg_ids is null or vt_offsets is null or cardinality(msg_ids) = 0 then
    return;
  end if;
  if cardinality(msg_ids) <> cardinality(vt_offsets) then
    perform pgflow._raise('SF001', 'set_vt_batch needs one offset for each message.',
      format('%s messages, %s offsets.', cardinality(msg_ids), cardinality(vt_offsets)), 'Send arrays of one length.');
  end if;
  return query execute format(
    'update pgmq.%I q set vt = clock_timestamp() + make_interval(secs => u.vt_offset)
     from unnest($1, $2) as u(id, vt_offset) where q.msg_id = u.id
     returning q.msg_id, q.read_ct::integer, q.enqueued_at, q.vt, q.message, q.headers',
    pgmq.format_table_name(set_vt_batch.queue_name, 'q'))
  using msg_ids, vt_offsets;
end $$;
comment on function pgflow.set_vt_batch(text, bigint[], integer[]) is 'Makes each message visible in the given number of seconds from now.';

-- 30_queue/settle_and_read.sql
-- The hot call of a queue worker, in one round trip: settles what has ended, then reads up to qty messages and hides them
-- for visibility_timeout seconds. (message id, read count) is the fencing token: who has read a message last holds it.
create function pgflow.settle_and_read(worker_id uuid, queue_name text, reports jsonb, qty integer, visibility_timeout integer)
returns setof pgflow.message_item
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_worker record;
begin
  perform pgflow._check_reports(settle_and_read.worker_id, reports);
  if jsonb_array_length(reports) > 0 then
    return query select * from pgflow._settle_messages(settle_and_read.worker_id, settle_and_read.queue_name, reports);
  end if;
  if qty is null or qty <= 0 then
    return;
  end if;

  select * into v_worker from pgflow._worker_state(settle_and_read.worker_id);
  if v_worker.state <> 'running' then
    return next row('worker', null, null, null, null, null, null, v_worker.state)::pgflow.message_item;
    return;
  end if;
  if v_worker.is_beat_due then
    perform pgflow._beat_with_claim(settle_and_read.worker_id);
  end if;
  return query
    select 'claimed', m.msg_id, m.read_ct::integer,
           (select count(*) from pgflow.forgiven_reads f
            where f.queue_name = settle_and_read.queue_name and f.message_id = m.msg_id)::integer,
           m.enqueued_at, m.message, m.headers, null::text
    from pgmq.read(settle_and_read.queue_name, visibility_timeout, qty) m;
end $$;
comment on function pgflow.settle_and_read(uuid, text, jsonb, integer, integer) is
  'For workers of queues without a flow. Reports: [{message_id, read_count, status: completed|retry|dead|released, retry_delay (s; of retry and released), error_message, error: {name, stack}}]. Rows by kind: claimed; refused (with its reason); worker (reason: why nothing was read).';

-- 40_run/00_types.sql
create type pgflow.claimed_task as (
  flow_slug text, run_id uuid, step_slug text, task_index integer, msg_id bigint, attempt integer, input jsonb, flow_input jsonb
);
-- What became of a resume: accepted, early, already_resumed, timed_out, skipped or run_ended.
create type pgflow.wait_answer as (run_id uuid, step_slug text, outcome text);
create type pgflow.settled_report as (
  run_id uuid, step_slug text, task_index integer, accepted boolean, reason text
);
-- A report that changed nothing; ordinal is its place in the call, from 1.
create type pgflow._refused_report as (
  ordinal bigint, run_id uuid, step_slug text, task_index integer, reason text
);
-- A report as it is worked on: what the worker said, what was wrong with it, and then the task row that it ended.
create type pgflow._report as (
  run_id uuid, step_slug text, task_index integer, attempt integer, status text, output jsonb, error_message text,
  error_name text, error_stack text, retry_delay integer, permanent boolean, forgiven boolean, problem text
);
create type pgflow._ended_task as (
  flow_slug text, run_id uuid, step_slug text, task_index integer, queue_name text, message_id bigint, output jsonb,
  error_message text
);
-- What a start has to know of a step: read once, so that a step which is added meanwhile belongs to the run as a whole or not at all.
create type pgflow._step_definition as (step_slug text, step_type text, deps_count integer, has_condition boolean);
-- A step whose failure its run does not survive.
create type pgflow._failed_step as (run_id uuid, step_slug text, error_message text);
-- What the hot call answers, one row a fact: claimed, refused, unsupported, halted, stalled, or the worker's state.
create type pgflow.work_item as (
  kind text, flow_slug text, run_id uuid, step_slug text, task_index integer, msg_id bigint, attempt integer,
  input jsonb, flow_input jsonb, timeout_seconds integer, reason text
);

-- 40_run/01_tables.sql
-- Hot tables. Two rules keep a step at about 2.8 KB of WAL: no index, and no index predicate, on a column that changes
-- while the row lives (every transition is then a HOT update; a fillfactor of 30 leaves room for three versions of each
-- row on its page, as many as a task may have before the first is pruned), and no foreign key to flows or steps (each
-- insert would share-lock one flows row: 51 K starts/s became 17.7 K).
-- Checks are written short, with lists as one constant: each statement reads the stored text of its table's checks anew,
-- which is a tenth of a call that settles one task. Where a column may be null, a comparison with it holds: null is not false.

create table pgflow.runs (
  run_id uuid not null default pgflow.new_run_id(),
  flow_slug text not null,
  status text not null default 'started',
  input jsonb not null,
  output jsonb,
  remaining_steps integer not null default 0,
  started_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz,
  cancelled_at timestamptz,
  cancel_reason text,
  -- Who started it, as the request's JWT says: what a signed-in person may see. Null for the server's own runs, the nil UUID for those of
  -- other callers without an id.
  owner uuid,
  idempotency_key text,
  -- The span that started it. A null costs no byte: the bitmap of the row has the place anyway.
  traceparent text,
  -- The start that was asked for later: whatever starts again before it waits for it. Null: at once.
  start_at timestamptz,
  constraint runs_pkey primary key (run_id),
  constraint completed_at_is_after_started_at check (completed_at >= started_at),
  constraint cancelled_at_is_after_started_at check (cancelled_at >= started_at),
  constraint completed_at_or_failed_at check (completed_at is null or failed_at is null),
  constraint failed_at_is_after_started_at check (failed_at >= started_at),
  constraint runs_remaining_steps_check check (remaining_steps >= 0),
  constraint status_is_valid check (status = any ('{started,failed,completed,cancelled}'))
) with (fillfactor = 30);
-- Of what changes only status and failed_at are in an index: they change once, when the run ends. Recovery and "what is running" use this one.
create index runs_active_idx on pgflow.runs (started_at) where status = 'started';
-- Lists, by the time of the start: run ids may be anybody's and tell nothing of it. Every run adds to its right edge, twice.
create index runs_started_at_idx on pgflow.runs (started_at, run_id);
-- Those that did not succeed are few, and looked for among all the others; only they are added here, and once.
create index runs_unsuccessful_idx on pgflow.runs (started_at, run_id) where status = any ('{failed,cancelled}');
create index runs_failed_at_idx on pgflow.runs (failed_at) where failed_at is not null;
-- Keys are a name space per owner; the server, whose runs have none, is one of them.
create unique index runs_idempotency_key_key on pgflow.runs (flow_slug, idempotency_key, owner) nulls not distinct where idempotency_key is not null;
create index runs_owner_idx on pgflow.runs (owner) where owner is not null;
comment on table pgflow.runs is 'One execution of a flow.';

create table pgflow.step_states (
  flow_slug text not null,
  run_id uuid not null,
  step_slug text not null,
  status text not null default 'created',
  remaining_tasks integer,
  remaining_deps integer not null default 0,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  error_message text,
  initial_tasks integer,
  output jsonb,
  skip_reason text,
  skipped_at timestamptz,
  constraint step_states_pkey primary key (run_id, step_slug),
  constraint step_states_run_id_fkey foreign key (run_id) references pgflow.runs (run_id),
  constraint completed_at_is_after_started_at check (completed_at >= started_at),
  constraint completed_at_or_failed_at_or_skipped_at check (num_nonnulls(completed_at, failed_at, skipped_at) <= 1),
  constraint failed_at_is_after_started_at check (failed_at >= started_at),
  constraint initial_tasks_known_when_started check (status <> 'started' or initial_tasks is not null),
  constraint output_only_for_completed_or_null check (output is null or status = 'completed'),
  constraint remaining_tasks_state_consistency check (remaining_tasks is null or status <> all ('{created,skipped}')),
  constraint skip_reason_matches_status check ((status = 'skipped') = (skip_reason is not null)),
  constraint skipped_at_is_after_created_at check (skipped_at >= created_at),
  constraint started_at_is_after_created_at check (started_at >= created_at),
  constraint status_and_remaining_tasks_match check (status <> 'completed' or remaining_tasks = 0),
  constraint status_is_valid check (status = any ('{created,started,completed,failed,skipped}')),
  constraint step_states_initial_tasks_check check (initial_tasks >= 0),
  constraint step_states_remaining_deps_check check (remaining_deps >= 0)
) with (fillfactor = 30);
comment on table pgflow.step_states is 'The state of one step in one run.';
-- A row of it that is handed on: the same columns. A type of its own, since every unnest of the table's row type copies the stored
-- text of all checks first.
create type pgflow._state as (
  flow_slug text, run_id uuid, step_slug text, status text, remaining_tasks integer, remaining_deps integer, created_at timestamptz,
  started_at timestamptz, completed_at timestamptz, failed_at timestamptz, error_message text, initial_tasks integer, output jsonb,
  skip_reason text, skipped_at timestamptz
);

create table pgflow.step_tasks (
  flow_slug text not null,
  run_id uuid not null,
  step_slug text not null,
  message_id bigint,
  task_index integer not null default 0,
  status text not null default 'queued',
  attempts_count integer not null default 0,
  error_message text,
  output jsonb,
  queued_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz,
  started_at timestamptz,
  last_worker_id uuid,
  requeued_count integer not null default 0,
  last_requeued_at timestamptz,
  permanently_stalled_at timestamptz,
  queue_name text not null,
  attempts_forgiven integer not null default 0,
  -- The element of a map task, so that a claim need not detoast the whole array (9.8 K against 16.9 K tasks/s).
  input jsonb,
  -- When it may be claimed: its start, its start delay or the delay of its retry. The message says the same, and may be lost. Null: at once.
  due_at timestamptz,
  constraint step_tasks_pkey primary key (run_id, step_slug, task_index),
  constraint step_tasks_run_id_fkey foreign key (run_id) references pgflow.runs (run_id),
  constraint step_tasks_run_id_step_slug_fkey foreign key (run_id, step_slug) references pgflow.step_states (run_id, step_slug),
  constraint attempts_count_nonnegative check (attempts_count >= 0),
  constraint attempts_forgiven_is_at_most_attempts_count check (attempts_forgiven between 0 and attempts_count),
  constraint completed_at_is_after_queued_at check (completed_at >= queued_at),
  constraint completed_at_is_after_started_at check (completed_at >= started_at),
  constraint completed_at_or_failed_at check (completed_at is null or failed_at is null),
  constraint failed_at_is_after_queued_at check (failed_at >= queued_at),
  constraint failed_at_is_after_started_at check (failed_at >= started_at),
  constraint output_valid_only_for_completed check (output is null or status = any ('{completed,failed}')),
  constraint started_at_is_after_queued_at check (started_at >= queued_at),
  constraint valid_status check (status = any ('{queued,started,completed,failed,skipped,cancelled,waiting}'))
) with (fillfactor = 30);
-- Message identity. Neither column changes after the task is made, but when its message was lost or its run starts again.
create unique index step_tasks_queue_name_message_id_key on pgflow.step_tasks (queue_name, message_id) where message_id is not null;
comment on table pgflow.step_tasks is 'One unit of work of a step; (queue_name, message_id) is the identity of its message, (last_worker_id, attempts_count) its fencing token.';

-- The parking place: queued tasks that are due so much later that their message would lie in front of due ones, since pgmq reads in the
-- order of ids and steps over each that is hidden. They have no message until shortly before. A row says only when to look: what is true
-- stands on the task, so no key ties it to step_tasks, whose every delete would look here.
create table pgflow.parked_tasks (
  queue_name text not null,
  due_at timestamptz not null,
  run_id uuid not null,
  step_slug text not null,
  task_index integer not null,
  constraint parked_tasks_pkey primary key (run_id, step_slug, task_index)
);
create index parked_tasks_queue_name_due_at_idx on pgflow.parked_tasks (queue_name, due_at);
comment on table pgflow.parked_tasks is 'Queued tasks that are due in more than an hour. Their message is sent when their time comes.';

create table pgflow.task_attempts (
  run_id uuid not null,
  step_slug text not null,
  task_index integer not null,
  attempt integer not null,
  worker_id uuid,
  started_at timestamptz,
  ended_at timestamptz not null default now(),
  reason text not null,
  error_name text,
  error_message text,
  error_stack text,
  constraint task_attempts_pkey primary key (run_id, step_slug, task_index, attempt),
  -- Goes with its task, so that a clean-up that knows only the tables of the released line still works; so do waits.
  constraint task_attempts_task_fkey foreign key (run_id, step_slug, task_index)
    references pgflow.step_tasks (run_id, step_slug, task_index) on delete cascade,
  constraint task_attempts_reason_is_valid check (reason in ('failed', 'type_violation', 'stalled', 'released', 'cancelled', 'skipped'))
);
create index task_attempts_stalled_idx on pgflow.task_attempts (ended_at) where reason = 'stalled';
comment on table pgflow.task_attempts is 'One row per attempt that ended otherwise than completed.';

-- Durable waits that have something to come: open ones, with their deadline, and those that were resumed before they opened,
-- with the payload that waits for them. A row goes when its wait ends. Here and not on step_tasks, where an index on what is
-- open would end the HOT updates of every claim.
create table pgflow.waits (
  run_id uuid not null,
  step_slug text not null,
  opened_at timestamptz,
  due_at timestamptz,
  resumed_at timestamptz,
  payload jsonb,
  constraint waits_pkey primary key (run_id, step_slug),
  constraint waits_run_id_step_slug_fkey foreign key (run_id, step_slug)
    references pgflow.step_states (run_id, step_slug) on delete cascade,
  constraint wait_is_open_or_resumed check ((opened_at is null) <> (resumed_at is null)),
  constraint payload_comes_with_a_resume check ((payload is null) = (resumed_at is null)),
  constraint only_open_waits_are_due check (due_at is null or opened_at is not null)
);
create index waits_due_at_idx on pgflow.waits (due_at) where due_at is not null;
comment on table pgflow.waits is 'Open durable waits, and payloads that came before their wait opened. due_at: when an open one times out; null: never.';

-- Runs that somebody looks at: only their events are sent where the setting events is watched. Unlogged: after a crash
-- its readers ask again.
create unlogged table pgflow.watched_runs (
  run_id uuid not null,
  watched_until timestamptz not null,
  constraint watched_runs_pkey primary key (run_id)
);
comment on table pgflow.watched_runs is 'Runs whose state was asked for by a client in the last minutes.';

-- 40_run/_advance.sql
-- Carries a set of runs as far as they go without a worker. p_ended: steps that have just completed or were skipped.
-- p_ready: steps that have just started; p_opened: waits that have. p_failed: steps that their run does not survive.
-- p_may_cascade: whether a step of p_ended was skipped. Works in waves, so depth has no limit; every wave is set-based over all runs. Events are sent last,
-- in the order of the waves: parent before child. The caller holds the runs' locks (or has just inserted them).
create function pgflow._advance(
  p_ended pgflow._state[], p_ready pgflow._state[], p_failed pgflow._failed_step[],
  p_new_run_ids uuid[] default null, p_not_before timestamptz default null, p_may_cascade boolean default true,
  p_opened pgflow._state[] default null)
returns void
language plpgsql
as $$
declare
  v_wave pgflow._state[] := p_ended;
  v_ended pgflow._state[] := p_ended;
  v_ready pgflow._state[] := p_ready;
  v_failed pgflow._failed_step[] := p_failed;
  -- Every transition, in its order.
  v_log pgflow._state[] := p_ended || p_ready;
  v_cascading pgflow._state[];
  v_cascaded pgflow._state[];
  v_released record;
  v_opened pgflow._state[];
  v_resumed pgflow._state[];
  v_judged pgflow._state[];
  v_more pgflow._state[];
  v_completed_run_ids uuid[];
  v_may_cascade boolean := p_may_cascade;
begin
  if p_opened is not null then
    v_resumed := pgflow._open_waits(p_opened, p_not_before);
    v_wave := v_wave || v_resumed;
    v_ended := v_wave;
    v_log := v_log || p_opened || v_resumed;
  end if;

  while v_wave is not null loop
    -- Nearly always nothing of a wave was skipped, and then this is known without a statement.
    v_cascading := null;
    if v_may_cascade then
      select array_agg(w) into v_cascading
      from unnest(v_wave) w
      join pgflow.steps st on st.flow_slug = w.flow_slug and st.step_slug = w.step_slug
      where (w.skip_reason = 'condition_unmet' and st.when_unmet = 'skip-cascade')
         or (w.skip_reason = 'handler_failed' and st.when_exhausted = 'skip-cascade');
    end if;
    if v_cascading is not null then
      v_cascaded := pgflow._skip_descendants(v_cascading);
      v_ended := v_ended || v_cascaded;
      v_log := v_log || v_cascaded;
    end if;

    v_released := pgflow._release_dependents(v_wave);
    v_judged := v_released.to_judge;
    v_wave := v_released.completed;
    v_more := v_released.started;
    v_opened := v_released.opened;
    v_ready := v_ready || v_more;
    v_log := v_log || v_wave || v_more || v_opened;
    v_may_cascade := v_judged is not null;
    if v_judged is not null then
      v_judged := pgflow._start_judged_steps(v_judged);
      select v_log || array_agg(s) filter (where s.status <> 'failed'),
             v_wave || array_agg(s) filter (where s.status in ('completed', 'skipped')),
             v_ready || array_agg(s) filter (where s.status = 'started' and st.step_type <> 'wait'),
             v_opened || array_agg(s) filter (where s.status = 'started' and st.step_type = 'wait'),
             v_failed || (array_agg(row(s.run_id, s.step_slug, s.error_message)::pgflow._failed_step) filter (where s.status = 'failed'))
      into v_log, v_wave, v_ready, v_opened, v_failed
      from unnest(v_judged) s join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug;
    end if;
    if v_opened is not null then
      -- Those whose payload had come before have ended again: they belong to this wave.
      v_resumed := pgflow._open_waits(v_opened);
      v_wave := v_wave || v_resumed;
      v_log := v_log || v_resumed;
    end if;
    v_ended := v_ended || v_wave;
  end loop;

  if v_failed is not null then
    perform pgflow._fail_runs(v_failed);
    select array_agg(s) into v_ready from unnest(v_ready) s where s.run_id not in (select f.run_id from unnest(v_failed) f);
  end if;
  if v_ready is not null then
    perform pgflow._dispatch(v_ready, p_not_before);
  end if;
  if v_ended is not null then
    v_completed_run_ids := pgflow._count_down_runs(v_ended);
  end if;
  perform pgflow._send_events(p_new_run_ids, v_log, v_failed, v_completed_run_ids);
end $$;

-- 40_run/_archive_messages.sql
-- Archives the messages of ended tasks, each from the queue that its task names. Idempotent.
create function pgflow._archive_messages(p_tasks pgflow._ended_task[])
returns void
language plpgsql
as $$
begin
  perform count(*)
  from (
    select t.queue_name, array_agg(t.message_id order by t.message_id) as ids
    from unnest(p_tasks) t where t.message_id is not null
    group by t.queue_name order by t.queue_name
  ) q cross join lateral pgmq.archive(q.queue_name, q.ids);
end $$;

-- 40_run/_base64url.sql
-- RFC 4648, 5, without padding. encode breaks lines, which goes too.
create function pgflow._base64url(p_bytes bytea)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select translate(encode(p_bytes, 'base64'), E'+/=\n', '-_')
$$;

-- 40_run/_caller_id.sql
-- The signed-in person behind this request, from the claims that the API gateway sets; null for the server itself.
create function pgflow._caller_id()
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_claims text := nullif(current_setting('request.jwt.claims', true), '');
  v_sub text;
begin
  if v_claims is null then
    return null;
  end if;
  v_sub := v_claims::jsonb ->> 'sub';
  return case when v_sub ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then v_sub::uuid end;
end $$;

-- 40_run/_caller_is_server.sql
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

-- 40_run/_check_cron.sql
create function pgflow._check_cron()
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regclass('cron.job') is null then
    perform pgflow._raise('SF204', 'Schedules need the extension pg_cron, which this database does not have.',
      'There is no table cron.job.',
      'Run: create extension pg_cron');
  end if;
end $$;

-- 40_run/_check_idempotency_key.sql
-- An index keeps the keys of runs, which takes no longer ones. Null is no key.
create function pgflow._check_idempotency_key(p_flow_slug text, p_key text)
returns void
language plpgsql
as $$
begin
  if octet_length(p_key) > 1024 then
    perform pgflow._raise('SF203', format('The idempotency key for flow "%s" is too long.', p_flow_slug),
      format('It has %s bytes; 1024 are allowed.', octet_length(p_key)), 'Use a shorter key, for example a hash of this one.');
  end if;
end $$;

-- 40_run/_check_reports.sql
create function pgflow._check_reports(p_worker_id uuid, p_reports jsonb)
returns void
language plpgsql
as $$
begin
  if p_worker_id is null then
    perform pgflow._raise('SF303', 'Reports need the worker that makes them.', 'worker_id is null.', 'Send the id the tasks were claimed with.');
  end if;
  if jsonb_typeof(p_reports) is distinct from 'array' then
    perform pgflow._raise('SF303', 'Reports must be one JSON array.', format('Got %s.', coalesce(jsonb_typeof(p_reports), 'null')),
      'Send [] when there is nothing to report.');
  end if;
end $$;

-- 40_run/_check_run_ids.sql
-- A run id that was asked for may exist: then it must be a run of the same flow, and one that this caller started. What exists of others
-- is told to those who may see it; the rest gets the one text for all that is taken.
create function pgflow._check_run_ids(p_flow_slug text, p_run_ids uuid[])
returns void
language plpgsql
as $$
declare
  v_owner uuid := pgflow._run_owner();
  v_taken record;
begin
  select r.run_id, r.flow_slug, r.owner, pgflow._may_see(r.owner) as is_visible into v_taken from pgflow.runs r
  where r.run_id = any (p_run_ids) and (r.flow_slug <> p_flow_slug or r.owner is distinct from v_owner or not pgflow._may_see(r.owner)) limit 1;
  if v_taken.run_id is not null then
    perform pgflow._raise('SF202',
      case when not v_taken.is_visible then format('Run id %s cannot be used.', v_taken.run_id)
           when v_taken.flow_slug <> p_flow_slug then format('Run %s already exists and belongs to flow "%s".', v_taken.run_id, v_taken.flow_slug)
           else format('Run %s already exists and belongs to another caller.', v_taken.run_id) end,
      format('It was asked for flow "%s".', p_flow_slug), 'Use a new run id.');
  end if;
end $$;

-- 40_run/_claim.sql
-- Reads messages and claims their tasks. Holds message rows (pgmq.read skips locked ones) and then task rows, which it
-- takes with skip locked too: it never waits, so it is part of no deadlock. Locks no run or step; eligibility is
-- checked on the locked task, and a run that ends meanwhile ends the task under its own lock.
-- p_alone: false leaves suspects (see _claim_messages) and tells of them; true takes one of them and nothing else; null makes no difference.
create function pgflow._claim(
  p_queue_name text, p_flow_slug text, p_step_slug text, p_worker_id uuid, p_qty integer, p_on_unsupported text,
  p_alone boolean default null)
returns pgflow.work_item[]
language plpgsql
as $$
declare
  v_route record;
  v_ids bigint[];
  v_read_counts integer[];
  v_suspect bigint;
  v_others bigint[];
begin
  -- Its queue is being dropped: nothing to claim, and the next call is told so.
  if not pg_try_advisory_xact_lock_shared(pgflow._deletion_lock(p_flow_slug)) then
    return null;
  end if;
  -- The worker and what it asks for in one statement, of which each costs a plan to start.
  select r.*, w.state, w.is_beat_due into v_route
  from (
    select min(coalesce(s.opt_timeout, f.opt_timeout)) as shortest, max(coalesce(s.opt_timeout, f.opt_timeout)) as longest,
           bool_and(s.queue_name = p_queue_name and (f.queue_mode = 'flow' or p_step_slug is not null)) as is_served,
           bool_or(f.paused_at is not null) as is_paused
    from pgflow.steps s join pgflow.flows f on f.flow_slug = s.flow_slug
    where s.flow_slug = p_flow_slug and (p_step_slug is null or s.step_slug = p_step_slug) and s.step_type <> 'wait'
  ) r cross join pgflow._worker_state(p_worker_id) w;
  if v_route.state <> 'running' then
    return array[row('worker', null, null, null, null, null, null, null, null, null, v_route.state)::pgflow.work_item];
  end if;
  if p_qty is null or p_qty <= 0 then
    return null;
  end if;
  if v_route.is_beat_due then
    perform pgflow._beat_with_claim(p_worker_id);
  end if;
  if v_route.is_served is not true then
    perform pgflow._refuse_subscription(p_queue_name, p_flow_slug, p_step_slug);
  end if;
  -- Who asks for the strict policy in other words must not be given the lax one.
  if p_on_unsupported <> 'skip' and p_on_unsupported <> 'halt' then
    perform pgflow._raise('SF001', format('on_unsupported cannot be "%s".', p_on_unsupported),
      'skip: messages that nobody understands are told and left. halt: one of them stops the worker function.', 'Use skip or halt.');
  end if;
  if v_route.is_paused then
    return null;
  end if;
  -- A queue that is never empty gets what is parked for it and due, too, without cron: as often as its workers beat.
  if v_route.is_beat_due and exists (select from pgflow.parked_tasks p where p.queue_name = p_queue_name and p.due_at <= pgflow.clock()) then
    perform pgflow._send_due_tasks(p_queue_name, pgflow.clock(), 1000);
  end if;

  -- A statement of its own: the next one has a newer snapshot and sees the task of every message read. In one statement
  -- a task committed in between would be missed and its message hidden for the whole visibility.
  select array_agg(m.msg_id), array_agg(m.read_ct) into v_ids, v_read_counts
  from pgmq.read(p_queue_name, case when v_route.shortest = v_route.longest then least(v_route.longest + 2::bigint, 2147483647)::integer else 5 end, p_qty) m;
  if v_ids is null then
    -- Nothing is due in the queue: what is parked for it and due comes in, and the next call reads it.
    if exists (select from pgflow.parked_tasks p where p.queue_name = p_queue_name and p.due_at <= pgflow.clock()) then
      perform pgflow._send_due_tasks(p_queue_name, pgflow.clock(), 1000);
    end if;
    return null;
  end if;

  if p_on_unsupported = 'halt' and pgflow._halt_on_unsupported(p_queue_name, p_flow_slug, p_step_slug, p_worker_id, v_ids) then
    return array(
      select row('halted', t.flow_slug, t.run_id, t.step_slug, t.task_index, i.id, null, null, null, null, null)::pgflow.work_item
      from unnest(v_ids) i(id)
      left join pgflow.step_tasks t on t.queue_name = p_queue_name and t.message_id = i.id
      where t.run_id is null or t.flow_slug <> p_flow_slug or t.step_slug <> coalesce(p_step_slug, t.step_slug));
  end if;

  if p_alone then
    v_suspect := (
      select min(t.message_id) from pgflow.step_tasks t
      where t.queue_name = p_queue_name and t.message_id = any (v_ids) and t.message_id is not null
        and t.status = 'queued' and t.requeued_count > 0);
    v_others := array(select i.id from unnest(v_ids) i(id) where i.id is distinct from v_suspect order by 1);
    perform pgflow.set_vt_batch(p_queue_name, v_others, array_fill(0, array[cardinality(v_others)]));
    if v_suspect is null then
      return null;
    end if;
    v_read_counts := array[v_read_counts[array_position(v_ids, v_suspect)]];
    v_ids := array[v_suspect];
  end if;
  return pgflow._claim_messages(p_queue_name, p_flow_slug, p_step_slug, p_worker_id, v_ids, v_read_counts,
                                v_route.shortest = v_route.longest, p_alone is distinct from false);
end $$;

-- 40_run/_claim_messages.sql
-- Claims the tasks of messages that this transaction has read, and says what became of the other messages.
-- p_are_hidden: the read has hidden them for effective timeout + 2 s already. p_read_counts null: the caller read them in
-- another transaction and does not hold them, so that what is not claimed is left alone; touching it could wait.
-- A suspect is a task that was put back since its worker had vanished: it may have been the cause. p_takes_suspects false: they are left
-- in sight, and the worker is told of them. One that found no worker with nothing else to do for ten minutes is taken like any other.
create function pgflow._claim_messages(
  p_queue_name text, p_flow_slug text, p_step_slug text, p_worker_id uuid, p_ids bigint[], p_read_counts integer[], p_are_hidden boolean,
  p_takes_suspects boolean)
returns pgflow.work_item[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_claimed pgflow.work_item[];
begin
  with claimed as (
    update pgflow.step_tasks t set
      -- greatest: the clock is the start of this transaction, which may have waited for a run lock while a younger one
      -- dispatched the task.
      status = 'started', attempts_count = t.attempts_count + 1, started_at = greatest(v_now, t.queued_at),
      last_worker_id = p_worker_id
    from (
      select e.run_id, e.step_slug, e.task_index
      from pgflow.step_tasks e
      where e.queue_name = p_queue_name and e.message_id = any (p_ids) and e.message_id is not null
        -- Says nothing new, but to Postgres 15 and 16: a plan that they make on empty tables looks for the queue alone, and would
        -- read every task that it ever had.
        and e.message_id between (select min(i.id) from unnest(p_ids) i(id)) and (select max(i.id) from unnest(p_ids) i(id))
        and (e.requeued_count = 0 or p_takes_suspects or e.last_requeued_at < v_now - interval '10 minutes')
        and e.status = 'queued' and e.flow_slug = p_flow_slug and (p_step_slug is null or e.step_slug = p_step_slug)
        -- scalar sub-select, not a join: the planner must not start from "the few active runs"
        and (select r.status from pgflow.runs r where r.run_id = e.run_id) = 'started'
        and (select x.status from pgflow.step_states x where x.run_id = e.run_id and x.step_slug = e.step_slug) = 'started'
      for no key update skip locked
    ) eligible
    where t.run_id = eligible.run_id and t.step_slug = eligible.step_slug and t.task_index = eligible.task_index
    returning t.flow_slug, t.run_id, t.step_slug, t.task_index, t.message_id, t.attempts_count, t.input, nextval('pgflow.counted_claims')
  )
  select array_agg(row('claimed', c.flow_slug, c.run_id, c.step_slug, c.task_index, c.message_id, c.attempts_count,
    case when s.step_type = 'map' then c.input
         when s.deps_count = 0 then '{}'::jsonb
         -- _deps_output, in place: a call per task costs as much as what it reads
         else (select coalesce(jsonb_object_agg(x.step_slug, coalesce(x.output, 'null')), '{}')
               from pgflow.deps d join pgflow.step_states x on x.run_id = c.run_id and x.step_slug = d.dep_slug
               where d.flow_slug = c.flow_slug and d.step_slug = c.step_slug and x.status = 'completed') end,
    case when s.step_type = 'single' and s.deps_count = 0
         then (select r.input from pgflow.runs r where r.run_id = c.run_id) end,
    coalesce(s.opt_timeout, f.opt_timeout), null)::pgflow.work_item)
  into v_claimed
  from claimed c
  join pgflow.steps s on s.flow_slug = c.flow_slug and s.step_slug = c.step_slug
  join pgflow.flows f on f.flow_slug = c.flow_slug;

  if not p_are_hidden and v_claimed is not null then
    if (select count(*) from pgflow.set_vt_batch(
          p_queue_name, array(select c.msg_id from unnest(v_claimed) c order by c.msg_id),
          array(select least(c.timeout_seconds, 2147483645) + 2 from unnest(v_claimed) c order by c.msg_id))) < cardinality(v_claimed) then
      perform pgflow._raise('SF301', format('The visibility of messages in queue "%s" could not be set.', p_queue_name),
        'A message of a task that was being claimed is gone.', 'Nothing was claimed. Leave the queue to Starflow: do not delete its messages by hand.');
    end if;
  end if;
  if p_read_counts is not null and coalesce(cardinality(v_claimed), 0) < cardinality(p_ids) then
    return v_claimed || array(
      select u from pgflow._settle_unclaimed(p_queue_name, p_flow_slug, p_step_slug, p_ids, p_read_counts, v_claimed, p_takes_suspects) u);
  end if;
  return v_claimed;
end $$;

-- 40_run/_complete_steps.sql
-- Counts completed tasks off their steps and completes the steps that have none left. A map's output is the array of
-- its tasks' outputs by index. A step that feeds a map of its run must have produced an array: if not, it and its run fail,
-- whatever when_exhausted says, and the offending output stays on its task.
create function pgflow._complete_steps(
  p_tasks pgflow._ended_task[], out completed_steps pgflow._state[], out failed_steps pgflow._failed_step[])
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_violating pgflow._state[];
begin
  with counted as (
    select t.flow_slug, t.run_id, t.step_slug, count(*)::integer as tasks_ended, (array_agg(t.output))[1] as output
    from unnest(p_tasks) t group by 1, 2, 3
  ), judged as (
    select c.*, st.step_type,
           st.feeds_map and st.step_type <> 'map' and jsonb_typeof(c.output) is distinct from 'array'
             and pgflow._feeds_map(c.flow_slug, c.run_id, c.step_slug) as is_violation
    from counted c join pgflow.steps st on st.flow_slug = c.flow_slug and st.step_slug = c.step_slug
  ), changed as (
    update pgflow.step_states s set
      remaining_tasks = s.remaining_tasks - j.tasks_ended,
      status = case when s.remaining_tasks > j.tasks_ended or j.is_violation then s.status else 'completed' end,
      completed_at = case when s.remaining_tasks > j.tasks_ended or j.is_violation then null else greatest(v_now, s.started_at) end,
      output = case when s.remaining_tasks > j.tasks_ended or j.is_violation then null
                    when j.step_type <> 'map' then j.output
                    else (select jsonb_agg(t.output order by t.task_index) from pgflow.step_tasks t
                          where t.run_id = j.run_id and t.step_slug = j.step_slug) end
    from judged j
    where s.run_id = j.run_id and s.step_slug = j.step_slug and s.status = 'started'
    returning row(s.*)::pgflow._state as state
  )
  select array_agg(c.state) filter (where (c.state).status = 'completed'),
         array_agg(c.state) filter (where (c.state).status = 'started' and (c.state).remaining_tasks = 0)
  into completed_steps, v_violating from changed c;

  if v_violating is not null then
    with changed as (
      update pgflow.step_tasks t set
        status = 'failed', completed_at = null, failed_at = greatest(v_now, t.queued_at, t.started_at),
        error_message = format('[TYPE_VIOLATION] Step "%s" feeds a map and must return an array, but returned %s',
                               t.step_slug, coalesce(jsonb_typeof(t.output), 'nothing'))
      from unnest(v_violating) v
      where t.run_id = v.run_id and t.step_slug = v.step_slug
      returning t.*
    ), kept as (
      insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason, error_message)
      select c.run_id, c.step_slug, c.task_index, c.attempts_count, c.last_worker_id, c.started_at, c.failed_at, 'type_violation', c.error_message
      from changed c
      on conflict on constraint task_attempts_pkey do nothing
    )
    select array_agg(row(c.run_id, c.step_slug, c.error_message)::pgflow._failed_step) into failed_steps from changed c;
  end if;
end $$;

-- 40_run/_condition_is_met.sql
-- jsonb containment: the input holds the required pattern, and does not hold the forbidden one.
create function pgflow._condition_is_met(p_input jsonb, p_required jsonb, p_forbidden jsonb)
returns boolean
language plpgsql immutable
as $$
begin
  return (p_required is null or p_input @> p_required) and (p_forbidden is null or not p_input @> p_forbidden);
end $$;

-- 40_run/_count_down_runs.sql
-- Takes ended steps off their runs and, at zero, completes the run in the same update. Its output is the object of the
-- outputs of the completed steps on which no step of this run depends. Returns the runs that completed.
create function pgflow._count_down_runs(p_ended pgflow._state[])
returns uuid[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_completed uuid[];
begin
  with changed as (
    update pgflow.runs r set
      remaining_steps = r.remaining_steps - e.steps_ended,
      status = case when r.remaining_steps = e.steps_ended then 'completed' else r.status end,
      completed_at = case when r.remaining_steps = e.steps_ended then greatest(v_now, r.started_at) end,
      output = case when r.remaining_steps = e.steps_ended then (
        select coalesce(jsonb_object_agg(s.step_slug, coalesce(s.output, 'null')), '{}')
        from pgflow.step_states s
        where s.run_id = r.run_id and s.status = 'completed'
          and not exists (
            select from pgflow.deps d join pgflow.step_states x on x.run_id = s.run_id and x.step_slug = d.step_slug
            where d.flow_slug = s.flow_slug and d.dep_slug = s.step_slug)) end
    from (select u.run_id, count(*)::integer as steps_ended from unnest(p_ended) u group by u.run_id) e
    where r.run_id = e.run_id and r.status not in ('completed', 'failed', 'cancelled')
    returning r.run_id, r.status, case when r.status = 'completed' then nextval('pgflow.counted_runs_completed') end
  )
  select array_agg(c.run_id) filter (where c.status = 'completed') into v_completed from changed c;
  return v_completed;
end $$;

-- 40_run/_deps_output.sql
-- What a dependent step gets: the outputs of its completed dependencies by slug. A skipped one is absent, not null.
create function pgflow._deps_output(p_flow_slug text, p_run_id uuid, p_step_slug text)
returns jsonb
language plpgsql stable
as $$
begin
  return (
    select coalesce(jsonb_object_agg(s.step_slug, coalesce(s.output, 'null')), '{}')
    from pgflow.deps d
    join pgflow.step_states s on s.run_id = p_run_id and s.step_slug = d.dep_slug
    where d.flow_slug = p_flow_slug and d.step_slug = p_step_slug and s.status = 'completed');
end $$;

-- 40_run/_dispatch.sql
-- Makes the tasks and messages of steps that have just started, waits apart: _open_waits makes theirs. One send_batch per queue and delay; unnest zips the
-- ids that it returns, in the order of its messages, with the tasks. What is due much later is parked, without a message. p_not_before: a
-- start that was asked for later.
create function pgflow._dispatch(p_ready pgflow._state[], p_not_before timestamptz default null)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, message_id, queue_name, input, queued_at, due_at)
  select q.flow_slug, z.run_id, z.step_slug, z.task_index,
         case when z.msg_id <= q.known_id then pgflow._unused_message_id(q.queue_name, z.msg_id) else z.msg_id end,
         q.queue_name, z.input, v_now, q.due_at
  from (
    select s.queue_name, s.flow_slug,
           case when s.opt_start_delay > 0 or p_not_before > clock_timestamp()
                then greatest(clock_timestamp(), p_not_before) + make_interval(secs => coalesce(s.opt_start_delay, 0)) end as due_at,
           (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = s.queue_name and t.message_id is not null) as known_id,
           array_agg(r.run_id) as run_ids, array_agg(r.step_slug) as slugs,
           array_agg(e.task_index) as indexes, array_agg(e.element) as inputs,
           array_agg(jsonb_build_object('flow_slug', r.flow_slug, 'run_id', r.run_id,
                                        'step_slug', r.step_slug, 'task_index', e.task_index)) as messages
    from unnest(p_ready) r
    join pgflow.steps s on s.flow_slug = r.flow_slug and s.step_slug = r.step_slug
    cross join lateral (
      select 0, null::jsonb where s.step_type = 'single'
      union all
      select (a.ordinal - 1)::integer, a.element
      from jsonb_array_elements(case when s.step_type = 'map' then pgflow._map_source(r.flow_slug, r.run_id, r.step_slug) end)
           with ordinality a(element, ordinal)
    ) e(task_index, element)
    group by s.queue_name, s.flow_slug, s.opt_start_delay
    order by s.queue_name
  ) q
  cross join lateral unnest(
    case when q.due_at > v_now + pgflow._parking_horizon()
         then pgflow._park_tasks(q.queue_name, q.due_at, q.run_ids, q.slugs, q.indexes)
         else array(select pgmq.send_batch(q.queue_name, q.messages, null::jsonb[], coalesce(q.due_at, clock_timestamp()))) end,
    q.run_ids, q.slugs, q.indexes, q.inputs
  ) as z(msg_id, run_id, step_slug, task_index, input);
end $$;

-- 40_run/_end_unfinished_tasks.sql
-- Ends the queued, started and waiting tasks of runs (p_step_slugs null), or of one step of each run (the arrays run in
-- parallel), as p_status, archives their messages, closes their waits and takes them from the parking place. A started attempt that is cut off so is kept in task_attempts.
create function pgflow._end_unfinished_tasks(p_run_ids uuid[], p_step_slugs text[], p_status text)
returns void
language plpgsql
as $$
declare
  v_ended pgflow._ended_task[];
begin
  with unfinished as (
    select t.run_id, t.step_slug, t.task_index, t.status
    from unnest(p_run_ids, p_step_slugs) u(run_id, step_slug)
    join pgflow.step_tasks t on t.run_id = u.run_id and (u.step_slug is null or t.step_slug = u.step_slug)
    where t.status in ('queued', 'started', 'waiting')
    order by t.run_id, t.step_slug, t.task_index
    for no key update of t
  ), changed as (
    update pgflow.step_tasks t set status = p_status
    from unfinished u
    where t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
    returning t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, t.attempts_count, t.last_worker_id,
              t.started_at, u.status as old_status
  ), kept as (
    insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason)
    select c.run_id, c.step_slug, c.task_index, c.attempts_count, c.last_worker_id, c.started_at, greatest(pgflow.clock(), c.started_at), p_status
    from changed c where c.old_status = 'started'
    on conflict on constraint task_attempts_pkey do nothing
  ), closed as (
    delete from pgflow.waits w using changed c
    where c.old_status = 'waiting' and w.run_id = c.run_id and w.step_slug = c.step_slug
  ), unparked as (
    delete from pgflow.parked_tasks p using changed c
    where c.old_status = 'queued' and c.message_id is null
      and p.run_id = c.run_id and p.step_slug = c.step_slug and p.task_index = c.task_index
  )
  select array_agg(row(c.flow_slug, c.run_id, c.step_slug, c.task_index, c.queue_name, c.message_id, null, null)::pgflow._ended_task)
  into v_ended from changed c;
  if v_ended is not null then
    perform pgflow._archive_messages(v_ended);
  end if;
end $$;

-- 40_run/_end_wait.sql
-- What a payload does to its wait, and the answer: every case of resume_wait. The caller holds the run, so that a resume, the
-- timeout, a cancellation and another resume come one after the other, and the first of them counts.
create function pgflow._end_wait(p_run pgflow.runs, p_step_slug text, p_payload jsonb)
returns text
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_state pgflow.step_states;
  v_wait pgflow.waits;
  v_task pgflow.step_tasks;
  v_result record;
begin
  select * into v_state from pgflow.step_states s where s.run_id = p_run.run_id and s.step_slug = p_step_slug;
  select * into v_task from pgflow.step_tasks t where t.run_id = p_run.run_id and t.step_slug = p_step_slug;
  if v_state.status = 'completed' then
    return 'already_resumed';
  elsif v_task.status = 'failed' or v_state.skip_reason = 'handler_failed' then
    return 'timed_out';
  elsif v_state.status = 'skipped' then
    return 'skipped';
  elsif p_run.status <> 'started' then
    return 'run_ended';
  end if;

  select * into v_wait from pgflow.waits w where w.run_id = p_run.run_id and w.step_slug = p_step_slug;
  if v_wait.resumed_at is not null then
    return 'already_resumed';
  elsif v_state.status = 'created' then
    insert into pgflow.waits (run_id, step_slug, resumed_at, payload) values (p_run.run_id, p_step_slug, v_now, p_payload);
    return 'early';
  elsif v_wait.due_at <= v_now then
    -- The deadline is the clock's, not that of the recovery pass which has not come by yet.
    perform pgflow._expire_waits(array[p_run.run_id]);
    return 'timed_out';
  end if;

  update pgflow.step_tasks t set status = 'completed', completed_at = greatest(v_now, t.queued_at), output = p_payload, error_message = null
  where t.run_id = p_run.run_id and t.step_slug = p_step_slug and t.status = 'waiting'
  returning * into v_task;
  delete from pgflow.waits w where w.run_id = p_run.run_id and w.step_slug = p_step_slug;
  v_result := pgflow._complete_steps(array[row(v_task.flow_slug, v_task.run_id, v_task.step_slug, v_task.task_index, v_task.queue_name,
                                               v_task.message_id, v_task.output, null)::pgflow._ended_task]);
  perform pgflow._advance(v_result.completed_steps, null, v_result.failed_steps, p_not_before => p_run.start_at, p_may_cascade => false);
  return 'accepted';
end $$;

-- 40_run/_exhaust_steps.sql
-- What a task that ended as failed means for its step: when_exhausted decides between failing the run and skipping the
-- step, whose unfinished tasks then end as skipped. Archives the messages of the failed tasks.
create function pgflow._exhaust_steps(
  p_failed pgflow._ended_task[], out skipped_steps pgflow._state[], out failed_steps pgflow._failed_step[])
language plpgsql
as $$
begin
  perform pgflow._archive_messages(p_failed);

  with verdicts as (
    select distinct on (t.run_id, t.step_slug) t.run_id, t.step_slug, t.error_message, st.when_exhausted = 'fail' as fails_run
    from unnest(p_failed) t
    join pgflow.steps st on st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
    order by t.run_id, t.step_slug, t.task_index
  ), skipped as (
    update pgflow.step_states s set
      status = 'skipped', skip_reason = 'handler_failed', skipped_at = greatest(pgflow.clock(), s.created_at, s.started_at),
      remaining_tasks = null, error_message = v.error_message
    from verdicts v
    where not v.fails_run and s.run_id = v.run_id and s.step_slug = v.step_slug and s.status = 'started'
    returning row(s.*)::pgflow._state as state
  )
  select (select array_agg(s.state) from skipped s),
         (select array_agg(row(v.run_id, v.step_slug, v.error_message)::pgflow._failed_step) from verdicts v where v.fails_run)
  into skipped_steps, failed_steps;

  if skipped_steps is not null then
    perform pgflow._end_unfinished_tasks(
      array(select s.run_id from unnest(skipped_steps) with ordinality s(flow_slug, run_id) order by s.ordinality),
      array(select s.step_slug from unnest(skipped_steps) with ordinality s(flow_slug, run_id, step_slug) order by s.ordinality),
      'skipped');
  end if;
end $$;

-- 40_run/_fail_attempts.sql
-- Ends attempts as failed: the task goes back to its queue after its delay (parked until then, if that is long), or ends when the error is permanent or its
-- budget (attempts_count - attempts_forgiven) is used up. accepted: every task whose report counted; exhausted: those
-- that ended. The caller holds the runs.
-- A forgiven attempt failed through the platform (its database connection), not through its handler: it does not count, ten times a task
-- at most, after which an outage has lasted for three minutes. A task with one attempt never runs twice.
create function pgflow._fail_attempts(
  p_worker_id uuid, p_reports pgflow._report[], out accepted pgflow._ended_task[], out exhausted pgflow._ended_task[])
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_cap integer := pgflow._setting('max_retry_delay')::integer;
  v_retries jsonb;
  v_parked pgflow._ended_task[];
begin
  with failing as (
    select distinct on (t.run_id, t.step_slug, t.task_index)
           t.run_id, t.step_slug, t.task_index, t.message_id, u.error_message, u.error_name, u.error_stack,
           p.is_forgiven,
           u.permanent or (not p.is_forgiven and t.attempts_count - t.attempts_forgiven >= o.max_attempts) as is_final,
           least(v_cap, case when p.is_forgiven then least(30, pgflow.calculate_retry_delay(1, t.attempts_forgiven)) else
             coalesce(u.retry_delay, least(
               coalesce(s.opt_max_delay, f.opt_max_delay),
               pgflow.calculate_retry_delay(coalesce(s.opt_base_delay, f.opt_base_delay), t.attempts_count - t.attempts_forgiven))) end) as delay
    from unnest(p_reports) u
    join pgflow.step_tasks t on t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
    join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
    join pgflow.flows f on f.flow_slug = t.flow_slug
    cross join lateral (select coalesce(s.opt_max_attempts, f.opt_max_attempts) as max_attempts) o
    cross join lateral (select u.forgiven and o.max_attempts > 1 and t.attempts_forgiven < 10 as is_forgiven) p
    where u.status = 'failed' and u.problem is null and t.status = 'started'
      and (p_worker_id is null or (t.attempts_count = u.attempt and t.last_worker_id = p_worker_id))
      and (select r.status from pgflow.runs r where r.run_id = t.run_id) = 'started'
      and (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) = 'started'
  ), judged as (
    select f.*, not f.is_final and make_interval(secs => f.delay) > pgflow._parking_horizon() as is_parked from failing f
  ), changed as (
    update pgflow.step_tasks t set
      status = case when f.is_final then 'failed' else 'queued' end,
      attempts_forgiven = t.attempts_forgiven + f.is_forgiven::integer,
      failed_at = case when f.is_final then greatest(v_now, t.queued_at, t.started_at) end,
      error_message = f.error_message,
      due_at = case when not f.is_final and f.delay > 0 then clock_timestamp() + make_interval(secs => f.delay) end,
      message_id = case when not f.is_parked then t.message_id end
    from judged f
    where t.run_id = f.run_id and t.step_slug = f.step_slug and t.task_index = f.task_index and t.status = 'started'
    returning t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, f.message_id, t.attempts_count, t.last_worker_id,
              t.started_at, f.error_message, f.error_name, f.error_stack, f.is_final, f.is_parked, f.delay, t.due_at, nextval('pgflow.counted_failures')
  ), kept as (
    insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason,
                                      error_name, error_message, error_stack)
    select c.run_id, c.step_slug, c.task_index, c.attempts_count, c.last_worker_id, c.started_at, greatest(v_now, c.started_at),
           'failed', c.error_name, c.error_message, c.error_stack
    from changed c
    on conflict on constraint task_attempts_pkey do nothing
  ), parked as (
    insert into pgflow.parked_tasks (queue_name, due_at, run_id, step_slug, task_index)
    select c.queue_name, c.due_at, c.run_id, c.step_slug, c.task_index from changed c where c.is_parked
    on conflict on constraint parked_tasks_pkey do update set queue_name = excluded.queue_name, due_at = excluded.due_at
  ), ended as (
    select c.is_final, c.is_parked, row(c.flow_slug, c.run_id, c.step_slug, c.task_index, c.queue_name, c.message_id, null, c.error_message)::pgflow._ended_task as task
    from changed c
  )
  select (select array_agg(e.task) from ended e),
         (select array_agg(e.task) from ended e where e.is_final),
         (select jsonb_object_agg(q.queue_name, q.hidden) from (
            select c.queue_name, jsonb_build_object('ids', array_agg(c.message_id), 'delays', array_agg(c.delay)) as hidden
            from changed c where not c.is_final and not c.is_parked group by c.queue_name) q),
         (select array_agg(e.task) from ended e where e.is_parked)
  into accepted, exhausted, v_retries, v_parked;

  perform count(*)
  from jsonb_each(v_retries) q
  cross join lateral pgflow.set_vt_batch(
    q.key,
    array(select i::bigint from jsonb_array_elements_text(q.value -> 'ids') with ordinality e(i, n) order by n),
    array(select d::integer from jsonb_array_elements_text(q.value -> 'delays') with ordinality e(d, n) order by n));
  perform count(*)
  from (select p.queue_name, array_agg(p.message_id) as ids from unnest(v_parked) p group by p.queue_name order by p.queue_name) q
  cross join lateral pgmq.delete(q.queue_name, q.ids);
end $$;

-- 40_run/_fail_runs.sql
-- Ends runs as failed: the failing step, every unfinished task (cancelled) and its message go in the same transaction,
-- so that nothing of a failed run is ever polled again. The caller holds the runs' locks. Where several steps of a run
-- fail at once, each is marked and the run fails once.
create function pgflow._fail_runs(p_failed pgflow._failed_step[])
returns void
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_runs uuid[] := array(select distinct f.run_id from unnest(p_failed) f);
  v_failed_count integer;
begin
  update pgflow.step_states s set
    status = 'failed', failed_at = greatest(v_now, s.created_at, s.started_at), error_message = f.error_message, output = null
  from unnest(p_failed) f
  where s.run_id = f.run_id and s.step_slug = f.step_slug and s.status in ('created', 'started');

  update pgflow.runs r set status = 'failed', failed_at = greatest(v_now, r.started_at)
  where r.run_id = any (v_runs) and r.status not in ('completed', 'failed', 'cancelled');
  get diagnostics v_failed_count = row_count;
  perform nextval('pgflow.counted_runs_failed') from generate_series(1, v_failed_count);

  perform pgflow._end_unfinished_tasks(v_runs, null, 'cancelled');
end $$;

-- 40_run/_feeds_map.sql
-- Whether a map of this very run goes over the output of the step: steps.feeds_map is true as soon as the flow has such a map, and a
-- map that was added later is no part of the runs before it.
create function pgflow._feeds_map(p_flow_slug text, p_run_id uuid, p_step_slug text)
returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from pgflow.deps d
    join pgflow.steps m on m.flow_slug = d.flow_slug and m.step_slug = d.step_slug and m.step_type = 'map'
    join pgflow.step_states s on s.run_id = p_run_id and s.step_slug = d.step_slug
    where d.flow_slug = p_flow_slug and d.dep_slug = p_step_slug);
end $$;

-- 40_run/_halt_on_unsupported.sql
-- The strict policy. If any message of the batch is not this subscription's: gives all of them back at once, disables
-- the worker's function (of a grouped one, this queue) with the reason, so that nothing restarts it, and answers true. No
-- task is touched. Under a fence the memory changes too: lifting the fence does not lift the halt.
create function pgflow._halt_on_unsupported(p_queue_name text, p_flow_slug text, p_step_slug text, p_worker_id uuid, p_ids bigint[])
returns boolean
language plpgsql
as $$
declare
  v_supported integer;
  v_reason text;
  v_function_name text := (select w.function_name from pgflow.workers w where w.worker_id = p_worker_id);
begin
  select count(*) into v_supported from pgflow.step_tasks t
  where t.queue_name = p_queue_name and t.message_id = any (p_ids) and t.message_id is not null
    -- for Postgres 15 and 16: see _claim_messages
    and t.message_id between (select min(i.id) from unnest(p_ids) i(id)) and (select max(i.id) from unnest(p_ids) i(id))
    and t.flow_slug = p_flow_slug and (p_step_slug is null or t.step_slug = p_step_slug);
  if v_supported = cardinality(p_ids) then
    return false;
  end if;
  perform pgflow.set_vt_batch(p_queue_name, p_ids, array_fill(0, array[cardinality(p_ids)]));
  v_reason := format('%s of %s messages read from queue "%s" are not supported (onUnsupportedMessage: halt)',
                     cardinality(p_ids) - v_supported, cardinality(p_ids), p_queue_name);
  if (select count(*) > 1 from pgflow.worker_function_queues q where q.function_name = v_function_name) then
    update pgflow.worker_function_queues q set enabled = false, disabled_reason = v_reason
    where q.function_name = v_function_name and q.queue_name = p_queue_name;
  else
    update pgflow.worker_functions f set
      enabled = false, updated_at = pgflow.clock(), disabled_reason = v_reason,
      enabled_before_fence = case when f.fenced_at is not null then false end
    where f.function_name = v_function_name;
  end if;
  return true;
end $$;

-- 40_run/_hmac_sha256.sql
-- pgcrypto may be in any schema.
create function pgflow._hmac_sha256(p_message text, p_secret text)
returns bytea
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mac bytea;
begin
  execute format('select %I.hmac(convert_to($1, ''UTF8''), convert_to($2, ''UTF8''), ''sha256'')',
                 (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pgcrypto'))
    into v_mac using p_message, p_secret;
  return v_mac;
end $$;

-- 40_run/_is_flow_schedule.sql
-- Whether a command of pg_cron was made by schedule_flow.
create function pgflow._is_flow_schedule(p_command text)
returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select starts_with(p_command, 'select pgflow.start_flow(') and p_command like '%::jsonb)'
$$;

-- 40_run/_keep_definition.sql
-- What keys from the hot tables would do, which are absent (docs/adr/0001): a flow stays while it has a run, and a step and its
-- dependencies while a run has the step. Starts share the deletion's lock, so that none is under way that has read what goes. Definer,
-- so that no policy hides a run.
create function pgflow._keep_definition()
returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_needed record;
begin
  if tg_op = 'TRUNCATE' then
    select r.flow_slug, r.run_id into v_needed from pgflow.runs r limit 1;
  else
    perform pg_advisory_xact_lock(pgflow._deletion_lock(o.flow_slug)) from (select distinct x.flow_slug from gone x order by 1) o;
    if tg_table_name = 'flows' then
      select r.flow_slug, r.run_id into v_needed from gone o join pgflow.runs r on r.flow_slug = o.flow_slug limit 1;
    else
      select r.flow_slug, r.run_id into v_needed from gone o
      join pgflow.runs r on r.flow_slug = o.flow_slug
      join pgflow.step_states s on s.run_id = r.run_id and s.step_slug = o.step_slug limit 1;
    end if;
  end if;
  if v_needed.run_id is not null then
    perform pgflow._raise('SF121', format('What is deleted from pgflow.%s is needed by runs of flow "%s".', tg_table_name, v_needed.flow_slug),
      format('Run %s is one of them. A run is worked on, shown and retried by the definition of its flow.', v_needed.run_id),
      format('Delete the flow with its runs and queues: select pgflow.delete_flow_and_data(%L); or define what is new under another slug.', v_needed.flow_slug));
  end if;
  return null;
end $$;
create trigger keep_definition after delete on pgflow.flows referencing old table as gone for each statement execute function pgflow._keep_definition();
create trigger keep_definition after delete on pgflow.steps referencing old table as gone for each statement execute function pgflow._keep_definition();
create trigger keep_definition after delete on pgflow.deps referencing old table as gone for each statement execute function pgflow._keep_definition();
create trigger keep_definition_truncated after truncate on pgflow.flows for each statement execute function pgflow._keep_definition();
create trigger keep_definition_truncated after truncate on pgflow.steps for each statement execute function pgflow._keep_definition();
create trigger keep_definition_truncated after truncate on pgflow.deps for each statement execute function pgflow._keep_definition();

-- 40_run/_lock_changeable_runs.sql
-- Locks those of the runs that the caller may change, and returns their ids in the order in which all callers lock runs.
create function pgflow._lock_changeable_runs(p_run_ids uuid[])
returns uuid[]
language plpgsql
as $$
begin
  return array(
    select r.run_id from pgflow.runs r where r.run_id = any (p_run_ids) and pgflow._may_change(r.owner)
    order by r.run_id for no key update);
end $$;

-- 40_run/_map_source.sql
-- The array a map step runs over: the output of its only dependency, or the run's input.
create function pgflow._map_source(p_flow_slug text, p_run_id uuid, p_step_slug text)
returns jsonb
language plpgsql stable
as $$
begin
  return coalesce(
    (select s.output from pgflow.deps d
     join pgflow.step_states s on s.run_id = p_run_id and s.step_slug = d.dep_slug
     where d.flow_slug = p_flow_slug and d.step_slug = p_step_slug),
    (select r.input from pgflow.runs r where r.run_id = p_run_id));
end $$;

-- 40_run/_may_change.sql
-- Definer functions check ownership themselves: the server may change all runs, a signed-in person only their own.
create function pgflow._may_change(p_owner uuid)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._caller_is_server() or coalesce(p_owner = pgflow._caller_id(), false);
end $$;

-- 40_run/_may_see.sql
-- Who may change a run sees it. In a database that was upgraded so does each caller who knows the id of a run that the server or a caller
-- without an id started, as before.
create function pgflow._may_see(p_owner uuid)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._may_change(p_owner) or (coalesce(p_owner, '00000000-0000-0000-0000-000000000000') = '00000000-0000-0000-0000-000000000000' and pgflow._setting('unowned_runs') = 'visible');
end $$;

-- 40_run/_may_watch.sql
-- Whether the caller may listen to a topic of Realtime: that of a run they may see.
create function pgflow._may_watch(p_topic text)
returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_id text := substring(p_topic from '^pgflow:run:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$');
begin
  return v_run_id is not null
    and exists (select from pgflow.runs r where r.run_id = v_run_id::uuid and pgflow._may_see(r.owner));
end $$;

-- 40_run/_open_waits.sql
-- Opens waits whose steps have just started: a task that waits, without a message, and a row that says when it is due
-- (p_not_before: a start that was asked for later counts from then). Where the payload came before, the wait ends at once:
-- returns the steps that so completed. The caller holds their runs.
create function pgflow._open_waits(p_opened pgflow._state[], p_not_before timestamptz default null)
returns pgflow._state[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_resumed pgflow._ended_task[];
begin
  insert into pgflow.step_tasks (flow_slug, run_id, step_slug, status, queue_name, queued_at)
  select o.flow_slug, o.run_id, o.step_slug, 'waiting', st.queue_name, v_now
  from unnest(p_opened) o join pgflow.steps st on st.flow_slug = o.flow_slug and st.step_slug = o.step_slug;

  with kept as (
    delete from pgflow.waits w using unnest(p_opened) o
    where w.run_id = o.run_id and w.step_slug = o.step_slug
    returning w.run_id, w.step_slug, w.payload
  ), changed as (
    update pgflow.step_tasks t set status = 'completed', completed_at = v_now, output = k.payload
    from kept k
    where t.run_id = k.run_id and t.step_slug = k.step_slug and t.status = 'waiting'
    returning row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, t.output, null)::pgflow._ended_task as task
  )
  select array_agg(c.task) into v_resumed from changed c;

  insert into pgflow.waits (run_id, step_slug, opened_at, due_at)
  select o.run_id, o.step_slug, v_now, greatest(v_now, p_not_before) + make_interval(secs => st.opt_timeout)
  from unnest(p_opened) o join pgflow.steps st on st.flow_slug = o.flow_slug and st.step_slug = o.step_slug
  where not exists (select from unnest(v_resumed) r where r.run_id = o.run_id and r.step_slug = o.step_slug);

  if v_resumed is null then
    return null;
  end if;
  return (pgflow._complete_steps(v_resumed)).completed_steps;
end $$;

-- 40_run/_park_tasks.sql
-- Parks tasks of one queue until they are due; the arrays run in parallel. Returns no message ids, in the place of those of send_batch.
create function pgflow._park_tasks(p_queue_name text, p_due_at timestamptz, p_run_ids uuid[], p_step_slugs text[], p_task_indexes integer[])
returns bigint[]
language plpgsql
as $$
begin
  insert into pgflow.parked_tasks (queue_name, due_at, run_id, step_slug, task_index)
  select p_queue_name, p_due_at, u.run_id, u.step_slug, u.task_index
  from unnest(p_run_ids, p_step_slugs, p_task_indexes) u(run_id, step_slug, task_index)
  -- One that a clean-up by hand has left there.
  on conflict on constraint parked_tasks_pkey do update set queue_name = excluded.queue_name, due_at = excluded.due_at;
  return null;
end $$;

-- 40_run/_parking_horizon.sql
-- How far ahead a task may be due and have its message in the queue, hidden. What is due later is parked: many hidden messages
-- slow every claim of their queue, and callers of the released interface see short delays as hidden messages.
create function pgflow._parking_horizon()
returns interval
language sql immutable
as $$ select interval '1 hour' $$;

-- 40_run/_parse_reports.sql
-- Reports as rows. The whole batch is converted at once; only where that fails is each report converted by itself, so
-- that one output which jsonb cannot hold fails its own attempt and no other. A report without a usable identity comes
-- back with a problem and nothing else.
create function pgflow._parse_reports(p_reports jsonb)
returns pgflow._report[]
language plpgsql
as $$
declare
  v_parsed pgflow._report[];
  v_one pgflow._report;
  v_element jsonb;
begin
  begin
    select array_agg(row(
        e.run_id, e.step_slug, e.task_index, e.attempt, e.status, e.output::jsonb, e.error_message, e.error ->> 'name',
        e.error ->> 'stack', case when e.retry_delay >= 0 then least(e.retry_delay, 2147483647)::integer end,
        coalesce(e.permanent, false), coalesce(e.forgiven, false),
        case when e.run_id is null or e.step_slug is null or e.task_index is null then 'malformed'
             when e.status is null or e.status not in ('completed', 'failed') then 'unknown status' end)::pgflow._report)
    into v_parsed
    from jsonb_to_recordset(p_reports) as e(
      run_id uuid, step_slug text, task_index integer, attempt integer, status text, output text, error_message text,
      error jsonb, retry_delay numeric, permanent boolean, forgiven boolean);
    return v_parsed;
  exception when data_exception or program_limit_exceeded then
    if jsonb_array_length(p_reports) = 1 then
      v_element := p_reports -> 0;
      begin
        select e.run_id, e.step_slug, e.task_index, e.attempt into v_one.run_id, v_one.step_slug, v_one.task_index, v_one.attempt
        from jsonb_to_record(v_element) as e(run_id uuid, step_slug text, task_index integer, attempt integer);
        v_one.status := 'failed';
        v_one.permanent := false;
        v_one.forgiven := false;
        v_one.error_message := left(format('The report of this attempt cannot be stored: %s', sqlerrm), 2000);
        v_one.error_name := 'InvalidOutputError';
      exception when data_exception then
        v_one.problem := 'malformed';
      end;
      return array[v_one];
    end if;
  end;
  for v_element in select e.value from jsonb_array_elements(p_reports) e loop
    v_parsed := v_parsed || pgflow._parse_reports(jsonb_build_array(v_element));
  end loop;
  return v_parsed;
end $$;

-- 40_run/_raise_unknown_flow.sql
create function pgflow._raise_unknown_flow(p_flow_slug text)
returns void
language plpgsql
as $$
begin
  perform pgflow._raise('SF201', format('Flow "%s" does not exist.', p_flow_slug),
    coalesce('Flows here: ' || (select string_agg(f.flow_slug, ', ' order by f.flow_slug) from (select flow_slug from pgflow.flows order by flow_slug limit 20) f) || '.',
             'No flow is compiled in this database.'),
    coalesce((select format('Did you mean "%s"? Slugs are case-sensitive.', f.flow_slug) from pgflow.flows f where lower(f.flow_slug collate "C") = lower(p_flow_slug collate "C")),
             'Start one of its workers first: a worker compiles its flow. Check the spelling too.'));
end $$;

-- 40_run/_read_wait_token.sql
-- What a genuine token says. One text for everything that is not: a forger learns nothing. What is compared are hashes of the
-- signatures, so that how long it takes tells nothing about the right one. Only then is the body looked at. A short secret could be
-- guessed from a token, so it verifies none.
create function pgflow._read_wait_token(p_token text, out placement text, out run_id text, out step_slug text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := regexp_match(left(p_token, 2000), '^(sfw1\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]+)$');
  v_secret text := pgflow._wait_key(v_parts[2]);
  v_body jsonb;
begin
  if v_secret is null or length(v_secret) < 32
    or sha256(convert_to(v_parts[4], 'UTF8')) <> sha256(convert_to(pgflow._base64url(pgflow._hmac_sha256(v_parts[1], v_secret)), 'UTF8')) then
    perform pgflow._raise('SF207', 'This token is not valid.', 'It is not one of ours, it was changed, or its key has been retired.',
      'Ask whoever sent it for a new one.');
  end if;
  v_body := convert_from(decode(rpad(translate(v_parts[3], '-_', '+/'), (length(v_parts[3]) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb;
  if to_timestamp((v_body ->> 'exp')::bigint) <= pgflow.clock() then
    perform pgflow._raise('SF208', 'This token has expired.',
      format('It was good until %s.', to_char(to_timestamp((v_body ->> 'exp')::bigint) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')),
      'Ask whoever sent it for a new one.');
  end if;
  placement := v_body ->> 'placement';
  run_id := v_body ->> 'run';
  step_slug := v_body ->> 'step';
end $$;

-- 40_run/_refuse_subscription.sql
create function pgflow._refuse_subscription(p_queue_name text, p_flow_slug text, p_step_slug text)
returns void
language plpgsql
as $$
begin
  perform pgflow._raise('SF302',
    format('Queue "%s" does not serve %s of flow "%s".', p_queue_name,
           case when p_step_slug is null then 'all steps' else format('step "%s"', p_step_slug) end, p_flow_slug),
    coalesce('Routes: ' || (select string_agg(format('%s → %s', s.step_slug, s.queue_name), ', ' order by s.step_index)
                            from pgflow._routes s where s.flow_slug = p_flow_slug) || '.', 'The flow has no routes.'),
    'Claim with the queue and step of a persisted route; a plain flow''s worker names no step.');
end $$;

-- 40_run/_refused_reports.sql
-- The reports that were not accepted, each with its reason. Not on the happy path. A second report of one attempt in the
-- same call is refused like one that comes later.
create function pgflow._refused_reports(
  p_worker_id uuid, p_reports pgflow._report[], p_completed pgflow._ended_task[], p_failed pgflow._ended_task[])
returns setof pgflow._refused_report
language plpgsql
as $$
declare
  v_refused_count integer;
begin
  return query
    with reported as (
      select u.ordinal, u.run_id, u.step_slug, u.task_index, u.attempt, u.status, u.problem,
             row_number() over (partition by u.run_id, u.step_slug, u.task_index, u.attempt, u.status order by u.ordinal) as repetition
      from unnest(p_reports) with ordinality
        u(run_id, step_slug, task_index, attempt, status, output, error_message, error_name, error_stack, retry_delay, permanent, forgiven, problem, ordinal)
    )
    select u.ordinal, u.run_id, u.step_slug, u.task_index,
           case when u.problem is not null then u.problem
                when t.run_id is null then 'unknown task'
                when r.status <> 'started' and t.status = 'started' then 'already settled: run is ' || r.status
                when s.status in ('completed', 'failed', 'skipped') and t.status = 'started' then 'already settled: step is ' || s.status
                when t.attempts_count = u.attempt and t.last_worker_id = p_worker_id and t.status <> 'started' then 'already settled: task is ' || t.status
                when t.status <> 'started' then 'task is ' || t.status
                when t.attempts_count = u.attempt then 'the task was claimed by another worker'
                else 'stale attempt: the task is at attempt ' || t.attempts_count end
    from reported u
    left join pgflow.step_tasks t on t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
    left join pgflow.step_states s on s.run_id = t.run_id and s.step_slug = t.step_slug
    left join pgflow.runs r on r.run_id = t.run_id
    where u.problem is not null or u.repetition > 1 or (p_worker_id is not null and u.attempt is distinct from t.attempts_count)
      or not exists (
        select from unnest(case u.status when 'completed' then p_completed else p_failed end) a
        where a.run_id = u.run_id and a.step_slug = u.step_slug and a.task_index = u.task_index);
  get diagnostics v_refused_count = row_count;
  perform nextval('pgflow.counted_refusals') from generate_series(1, v_refused_count);
end $$;

-- 40_run/_release_dependents.sql
-- Counts down the dependents of steps that have ended, completed or skipped, and starts those that are ready. A step
-- with a condition comes back as created with nothing remaining: it is judged next, by a statement that sees its inputs.
-- A map over a skipped dependency, or over an empty array, completes at once. opened: waits that start; started: all others.
create function pgflow._release_dependents(
  p_ended pgflow._state[],
  out to_judge pgflow._state[], out completed pgflow._state[], out started pgflow._state[],
  out opened pgflow._state[])
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  with counted as (
    select e.run_id, e.flow_slug, d.step_slug, count(*)::integer as deps_ended, (array_agg(e.output))[1] as first_output
    from unnest(p_ended) e
    join pgflow.deps d on d.flow_slug = e.flow_slug and d.dep_slug = e.step_slug
    group by 1, 2, 3
  ), waiting as (
    select c.run_id, c.step_slug, c.deps_ended,
           st.required_input_pattern is not null or st.forbidden_input_pattern is not null as has_condition,
           -- Anything but an array comes from a dependency that was skipped, or goes to a map that this run does not have.
           case when st.step_type <> 'map' then 1 when jsonb_typeof(c.first_output) = 'array' then jsonb_array_length(c.first_output) else 0 end as tasks,
           st.step_type = 'wait' as is_wait
    from counted c join pgflow.steps st on st.flow_slug = c.flow_slug and st.step_slug = c.step_slug
  ), changed as (
    update pgflow.step_states s set
      remaining_deps = s.remaining_deps - w.deps_ended,
      initial_tasks = case when s.remaining_deps = w.deps_ended then w.tasks else s.initial_tasks end,
      status = case when s.remaining_deps <> w.deps_ended or w.has_condition then s.status
                    when w.tasks = 0 then 'completed' else 'started' end,
      started_at = case when s.remaining_deps = w.deps_ended and not w.has_condition then greatest(v_now, s.created_at) end,
      remaining_tasks = case when s.remaining_deps = w.deps_ended and not w.has_condition then w.tasks end,
      completed_at = case when s.remaining_deps = w.deps_ended and not w.has_condition and w.tasks = 0 then greatest(v_now, s.created_at) end,
      output = case when s.remaining_deps = w.deps_ended and not w.has_condition and w.tasks = 0 then '[]'::jsonb end
    from waiting w
    where s.run_id = w.run_id and s.step_slug = w.step_slug and s.status = 'created'
    returning row(s.*)::pgflow._state as state, w.is_wait
  )
  select array_agg(c.state) filter (where (c.state).status = 'created'),
         array_agg(c.state) filter (where (c.state).status = 'completed'),
         array_agg(c.state) filter (where (c.state).status = 'started' and not c.is_wait),
         array_agg(c.state) filter (where (c.state).status = 'started' and c.is_wait)
  into to_judge, completed, started, opened
  from changed c where (c.state).remaining_deps = 0;
end $$;

-- 40_run/_resend_messages.sql
-- New messages for tasks that have none, visible when the task is due; what is due much later is parked. The caller holds their runs.
-- Returns how many tasks that were.
create function pgflow._resend_messages(p_tasks pgflow.step_tasks[])
returns integer
language plpgsql
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  with parked as (
    insert into pgflow.parked_tasks (queue_name, due_at, run_id, step_slug, task_index)
    select t.queue_name, t.due_at, t.run_id, t.step_slug, t.task_index
    from unnest(p_tasks) t where t.due_at > v_now + pgflow._parking_horizon()
    on conflict on constraint parked_tasks_pkey do update set queue_name = excluded.queue_name, due_at = excluded.due_at
  ), batches as (
    select t.queue_name, greatest(v_now, t.due_at) as due_at, t.due_at > v_now + pgflow._parking_horizon() as is_parked,
           array_agg(t.run_id) as run_ids, array_agg(t.step_slug) as slugs, array_agg(t.task_index) as indexes,
           array_agg(jsonb_build_object('flow_slug', t.flow_slug, 'run_id', t.run_id, 'step_slug', t.step_slug, 'task_index', t.task_index)) as messages
    from unnest(p_tasks) t
    group by 1, 2, 3 order by 1, 2
  ), sent as materialized (
    select z.* from batches b
    cross join lateral unnest(
      case when not coalesce(b.is_parked, false) then array(select pgmq.send_batch(b.queue_name, b.messages, null::jsonb[], b.due_at)) end,
      b.run_ids, b.slugs, b.indexes
    ) as z(msg_id, run_id, step_slug, task_index)
  )
  update pgflow.step_tasks t set message_id = case when s.msg_id is not null then pgflow._unused_message_id(t.queue_name, s.msg_id) end
  from sent s
  where t.run_id = s.run_id and t.step_slug = s.step_slug and t.task_index = s.task_index;
  return coalesce(cardinality(p_tasks), 0);
end $$;

-- 40_run/_run_owner.sql
-- Whose a run is that this call starts: null is the server. Callers without an id are one owner, whom the nil UUID stands for: without it
-- their run ids and idempotency keys would be the server's.
create function pgflow._run_owner()
returns uuid
language plpgsql stable
as $$
begin
  return coalesce(pgflow._caller_id(), case when not pgflow._caller_is_server() then '00000000-0000-0000-0000-000000000000'::uuid end);
end $$;

-- 40_run/_send_event.sql
-- One broadcast. 250 000 bytes: Supabase's Realtime takes 256 KB on its smallest plan, envelope included.
create function pgflow._send_event(p_run_id uuid, p_event text, p_payload jsonb)
returns void
language plpgsql
as $$
begin
  if octet_length(p_payload::text) > 250000 then
    p_payload := (p_payload - 'output' - 'input')
      || jsonb_build_object('omitted', (
           select coalesce(jsonb_agg(k), '[]') from jsonb_object_keys(p_payload) k where k in ('output', 'input')))
      || case when p_payload ? 'error_message'
              then jsonb_build_object('error_message', left(p_payload ->> 'error_message', 10000)) else '{}' end;
  end if;
  perform realtime.send(p_payload, p_event, 'pgflow:run:' || p_run_id, pgflow._setting('events_channel') = 'private');
end $$;

-- 40_run/_send_events.sql
-- Tells whoever watches what has just changed: run:started, steps in the order of their transitions, failures, ends. One
-- event per transition. Sending is protected as a whole: a realtime.send that raises or is missing costs the events,
-- never the run. Payloads over the broadcast limit leave their data out and say so; the client then reads it.
-- Joins with unnest and no "= any (array)": bulk starts come by the thousand, and the array would be searched for each row.
create function pgflow._send_events(
  p_new_run_ids uuid[], p_log pgflow._state[], p_failed pgflow._failed_step[], p_completed_run_ids uuid[])
returns void
language plpgsql
as $$
declare
  v_mode text;
  v_watched uuid[];
  v_event record;
begin
  -- One statement for what is nearly always so; the default of the setting is not all. (The parameter is looked at only where it is allowed.)
  if coalesce(substring(current_setting('pgflow.events', true) from '^(?:all|watched|off)$'), (select s.value from pgflow.settings s where s.key = 'events'), '') <> 'all'
    and not exists (select from pgflow.watched_runs) then
    return;
  end if;
  v_mode := pgflow._setting('events');
  if v_mode = 'off' then
    return;
  end if;
  if v_mode = 'watched' then
    select array_agg(u.run_id) into v_watched from (
      select n.run_id from unnest(p_new_run_ids) n(run_id)
      union select s.run_id from unnest(p_log) s
      union select f.run_id from unnest(p_failed) f
      union select c.run_id from unnest(p_completed_run_ids) c(run_id)
    ) u
    where exists (select from pgflow.watched_runs w where w.run_id = u.run_id and w.watched_until > pgflow.clock());
    if v_watched is null then
      return;
    end if;
  end if;

  begin
    for v_event in
      select e.run_id, e.event, e.payload from (
        select 1 as phase, 0::bigint as position, r.run_id, 'run:started' as event, jsonb_build_object(
                 'event_type', 'run:started', 'run_id', r.run_id, 'status', 'started', 'flow_slug', r.flow_slug, 'input', r.input,
                 'remaining_steps', (select count(*) from pgflow.steps s where s.flow_slug = r.flow_slug), 'started_at', r.started_at) as payload
        from unnest(p_new_run_ids) n(run_id) join pgflow.runs r on r.run_id = n.run_id
        where v_watched is null or r.run_id = any (v_watched)
        union all
        select 2, l.position, (l.state).run_id, format('step:%s:%s', (l.state).step_slug, (l.state).status), pgflow._step_event(l.state)
        from (select s as state, row_number() over () as position from unnest(p_log) s) l
        where v_watched is null or (l.state).run_id = any (v_watched)
        union all
        select 3, 0, s.run_id, format('step:%s:failed', s.step_slug), pgflow._step_event(row(s.*)::pgflow._state)
        from unnest(p_failed) f join pgflow.step_states s on s.run_id = f.run_id and s.step_slug = f.step_slug
        where s.status = 'failed' and (v_watched is null or s.run_id = any (v_watched))
        union all
        select 4, 0, r.run_id, 'run:failed', jsonb_build_object(
                 'event_type', 'run:failed', 'run_id', r.run_id, 'status', 'failed', 'flow_slug', r.flow_slug, 'failed_at', r.failed_at,
                 'error_message', f.error_message)
        from (select distinct on (u.run_id) u.run_id, u.error_message from unnest(p_failed) u) f
        join pgflow.runs r on r.run_id = f.run_id
        where r.status = 'failed' and (v_watched is null or r.run_id = any (v_watched))
        union all
        select 4, 0, r.run_id, 'run:completed', jsonb_build_object(
                 'event_type', 'run:completed', 'run_id', r.run_id, 'status', 'completed', 'flow_slug', r.flow_slug, 'output', r.output,
                 'completed_at', r.completed_at)
        from unnest(p_completed_run_ids) c(run_id) join pgflow.runs r on r.run_id = c.run_id
        where v_watched is null or r.run_id = any (v_watched)
      ) e
      order by e.phase, e.position
    loop
      perform pgflow._send_event(v_event.run_id, v_event.event, v_event.payload);
    end loop;
  exception when others then
    raise warning 'Events could not be sent: %', sqlerrm;
  end;
end $$;

-- 40_run/_send_run_event.sql
-- An event of a run outside an advance.
create function pgflow._send_run_event(p_run pgflow.runs, p_event text, p_payload jsonb)
returns void
language plpgsql
as $$
declare
  v_mode text := pgflow._setting('events');
begin
  if v_mode = 'all' or (v_mode = 'watched' and exists (
       select from pgflow.watched_runs w where w.run_id = p_run.run_id and w.watched_until > pgflow.clock())) then
    perform pgflow._send_event(p_run.run_id, p_event, p_payload || jsonb_build_object(
      'event_type', p_event, 'run_id', p_run.run_id, 'status', p_run.status, 'flow_slug', p_run.flow_slug));
  end if;
exception when others then
  raise warning 'An event of run % could not be sent: %', p_run.run_id, sqlerrm;
end $$;

-- 40_run/_settle.sql
-- Settles many reports of many runs and tells which were refused, and why, or null; the others were accepted. See README.md in
-- this folder for the order of locks: runs first, in one statement; then tasks, states and messages of those runs only.
-- p_worker_id null: complete_task and fail_task without a fence, for which any started task will do.
create function pgflow._settle(p_worker_id uuid, p_reports jsonb)
returns pgflow._refused_report[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_reports pgflow._report[];
  v_result record;
  v_completed pgflow._ended_task[];
  v_failed pgflow._ended_task[];
  v_exhausted pgflow._ended_task[];
  v_ended_steps pgflow._state[];
  v_skipped_steps pgflow._state[];
  v_failed_steps pgflow._failed_step[];
  v_more_failed_steps pgflow._failed_step[];
begin
  if p_reports is null or jsonb_array_length(p_reports) = 0 then
    return null;
  end if;
  v_reports := pgflow._parse_reports(p_reports);

  -- A statement of its own: everything below sees what earlier holders of these runs committed. Ended runs too: one may be
  -- retried, and its task be claimed, before the next statement. (Nor may it say status = 'started', here and wherever run
  -- ids are known: a plan made while few runs were active would read all of them by runs_active_idx.)
  perform from pgflow.runs r
  where r.run_id in (select u.run_id from unnest(v_reports) u)
  order by r.run_id for no key update;

  with changed as (
    update pgflow.step_tasks t set
      -- greatest: this transaction may have begun before the claim that started the task.
      status = 'completed', completed_at = greatest(v_now, t.started_at), output = u.output, error_message = null
    from unnest(v_reports) u
    where u.status = 'completed' and u.problem is null
      and t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index and t.status = 'started'
      and (p_worker_id is null or (t.attempts_count = u.attempt and t.last_worker_id = p_worker_id))
      -- Whoever ends a run or step ends its tasks; a task that was opened by other means must not count in one that has ended.
      and (select r.status from pgflow.runs r where r.run_id = t.run_id) = 'started'
      and (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) = 'started'
    returning row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, t.output, null)::pgflow._ended_task as task,
              nextval('pgflow.counted_completions')
  )
  select array_agg(c.task) into v_completed from changed c;

  if v_completed is not null then
    -- Assigned, not selected from: that would be a plan to start.
    v_result := pgflow._complete_steps(v_completed);
    v_ended_steps := v_result.completed_steps;
    v_failed_steps := v_result.failed_steps;
    perform pgflow._archive_messages(v_completed);
  end if;

  if coalesce(cardinality(v_completed), 0) < cardinality(v_reports)
    and exists (select from unnest(v_reports) u where u.status = 'failed' and u.problem is null) then
    select f.accepted, f.exhausted into v_failed, v_exhausted from pgflow._fail_attempts(p_worker_id, v_reports) f;
    if v_exhausted is not null then
      select x.skipped_steps, x.failed_steps into v_skipped_steps, v_more_failed_steps from pgflow._exhaust_steps(v_exhausted) x;
    end if;
  end if;

  v_ended_steps := v_ended_steps || v_skipped_steps;
  v_failed_steps := v_failed_steps || v_more_failed_steps;
  if v_ended_steps is not null or v_failed_steps is not null then
    perform pgflow._advance(v_ended_steps, null, v_failed_steps, p_may_cascade => v_skipped_steps is not null);
  end if;

  if coalesce(cardinality(v_completed), 0) + coalesce(cardinality(v_failed), 0) < cardinality(v_reports) then
    return array(select r from pgflow._refused_reports(p_worker_id, v_reports, v_completed, v_failed) r);
  end if;
  return null;
end $$;

-- 40_run/_settle_unclaimed.sql
-- What becomes of messages that were read but not claimed; no body is looked at and no attempt consumed.
--   unsupported    no task, or another flow's or step's: hidden for min(5 s × 2^(reads - 1), 5 min), told to the worker
--   ended          its task, step or run is terminal: archived
--   running        its task is started: hidden until the recovery boundary, which it does not move
--   stalled        its task is started and past that boundary: recovered by this same call, or, where it has no attempt
--                  left and so would end, told to the worker, which then calls requeue_stalled_tasks
--   suspect        its task was put back, and this claim takes no such: left in sight, told to the worker
--   busy           its task is queued, but somebody else has it locked: back in 5 s
create function pgflow._settle_unclaimed(
  p_queue_name text, p_flow_slug text, p_step_slug text, p_ids bigint[], p_read_counts integer[], p_claimed pgflow.work_item[],
  p_takes_suspects boolean)
returns setof pgflow.work_item
language plpgsql
as $$
declare
  v_rest pgflow.work_item[];
  v_hidden bigint[];
  v_offsets integer[];
  v_recovered bigint[];
begin
  -- input and the like are not needed here; reason holds the verdict, timeout_seconds how long to hide the message.
  select array_agg(row(v.verdict, t.flow_slug, t.run_id, t.step_slug, t.task_index, m.id, m.read_count, null, null,
    case v.verdict
      when 'unsupported' then least(5 * power(2, least(m.read_count - 1, 10)), 300)::integer
      when 'running' then least(ceil(extract(epoch from v.boundary - pgflow.clock())), 2147483647)::integer
      when 'suspect' then 0
      else 5 end, null)::pgflow.work_item)
  into v_rest
  from unnest(p_ids, p_read_counts) m(id, read_count)
  left join pgflow.step_tasks t on t.queue_name = p_queue_name and t.message_id = m.id
  left join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
  left join pgflow.flows f on f.flow_slug = t.flow_slug
  cross join lateral (
    select t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) as boundary
  ) b
  cross join lateral (
    select b.boundary, case
      when t.run_id is null or t.flow_slug <> p_flow_slug or t.step_slug <> coalesce(p_step_slug, t.step_slug) then 'unsupported'
      when t.status = 'started' then case when b.boundary > pgflow.clock() then 'running' else 'stalled' end
      when t.status <> 'queued' then 'ended'
      when (select r.status from pgflow.runs r where r.run_id = t.run_id) <> 'started' then 'ended'
      when (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) in ('completed', 'failed', 'skipped') then 'ended'
      when t.requeued_count > 0 and not p_takes_suspects and t.last_requeued_at >= pgflow.clock() - interval '10 minutes' then 'suspect'
      else 'busy' end as verdict
  ) v
  where m.id <> all (coalesce((select array_agg(c.msg_id) from unnest(p_claimed) c), '{}'));

  perform pgmq.archive(p_queue_name, array(select r.msg_id from unnest(v_rest) r where r.kind = 'ended'))
  where exists (select from unnest(v_rest) r where r.kind = 'ended');

  v_recovered := pgflow._requeue_stalled_messages(
    p_queue_name, array(select r.msg_id from unnest(v_rest) r where r.kind = 'stalled'));

  select array_agg(r.msg_id order by r.msg_id), array_agg(r.timeout_seconds order by r.msg_id) into v_hidden, v_offsets
  from unnest(v_rest) r where r.kind <> 'ended' and r.msg_id <> all (coalesce(v_recovered, '{}'));
  perform pgflow.set_vt_batch(p_queue_name, v_hidden, v_offsets);

  return query
    select r.* from unnest(v_rest) r
    where r.kind in ('unsupported', 'suspect') or (r.kind = 'stalled' and r.msg_id <> all (coalesce(v_recovered, '{}')));
end $$;

-- 40_run/_sign_wait_token.sql
-- sfw1.<kid>.<body>.<signature>: the body is JSON in base64url, in this order of keys and without spaces; the signature is the
-- HMAC-SHA256 of everything before it. Its twin is packages/engine/src/wait/wait-token.ts; both run
-- packages/engine/vectors/wait-tokens.json. No part needs escaping: slugs, ids and key names hold letters, digits, - and _.
create function pgflow._sign_wait_token(
  p_placement text, p_run_id text, p_step_slug text, p_expires_at bigint, p_kid text, p_secret text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_signed text := 'sfw1.' || p_kid || '.' || pgflow._base64url(convert_to(format(
    '{"placement":"%s","run":"%s","step":"%s","exp":%s}', p_placement, p_run_id, p_step_slug, p_expires_at), 'UTF8'));
begin
  return v_signed || '.' || pgflow._base64url(pgflow._hmac_sha256(v_signed, p_secret));
end $$;

-- 40_run/_skip_descendants.sql
-- skip-cascade: everything below a skipped step is skipped, however deep. None of it can have started, since each
-- descendant still waited for the step above it. Returns the steps that were skipped.
create function pgflow._skip_descendants(p_skipped pgflow._state[])
returns pgflow._state[]
language plpgsql
as $$
declare
  v_states pgflow._state[];
begin
  with recursive below as (
    select p.run_id, p.flow_slug, d.step_slug
    from unnest(p_skipped) p join pgflow.deps d on d.flow_slug = p.flow_slug and d.dep_slug = p.step_slug
    union
    select b.run_id, b.flow_slug, d.step_slug
    from below b join pgflow.deps d on d.flow_slug = b.flow_slug and d.dep_slug = b.step_slug
  ), changed as (
    update pgflow.step_states s set status = 'skipped', skip_reason = 'dependency_skipped',
      skipped_at = greatest(pgflow.clock(), s.created_at)
    from below b
    where s.run_id = b.run_id and s.step_slug = b.step_slug and s.status = 'created'
    returning row(s.*)::pgflow._state as state
  )
  -- A dependency always has the lower index: parents are told of before their children.
  select array_agg(c.state order by st.step_index) into v_states
  from changed c join pgflow.steps st on st.flow_slug = (c.state).flow_slug and st.step_slug = (c.state).step_slug;
  return v_states;
end $$;

-- 40_run/_start_judged_steps.sql
-- Steps whose dependencies have all ended and that carry a condition: start, complete (a map over nothing), skip or
-- fail them. The caller holds the runs. Returns them as they are now.
create function pgflow._start_judged_steps(p_judged pgflow._state[])
returns pgflow._state[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_states pgflow._state[];
begin
  with judged as materialized (
    select j.run_id, j.step_slug, st.step_type, st.when_unmet, j.initial_tasks,
           pgflow._condition_is_met(
             case when st.deps_count = 0 then (select r.input from pgflow.runs r where r.run_id = j.run_id)
                  else pgflow._deps_output(j.flow_slug, j.run_id, j.step_slug) end,
             st.required_input_pattern, st.forbidden_input_pattern) as is_met
    from unnest(p_judged) j
    join pgflow.steps st on st.flow_slug = j.flow_slug and st.step_slug = j.step_slug
  ), verdicts as (
    select j.run_id, j.step_slug, j.initial_tasks,
           case when not j.is_met then case when j.when_unmet = 'fail' then 'failed' else 'skipped' end
                when j.initial_tasks = 0 then 'completed'
                else 'started' end as status
    from judged j
  ), changed as (
    update pgflow.step_states s set
      status = v.status,
      started_at = case when v.status in ('started', 'completed') then greatest(v_now, s.created_at) end,
      completed_at = case when v.status = 'completed' then greatest(v_now, s.created_at) end,
      failed_at = case when v.status = 'failed' then greatest(v_now, s.created_at) end,
      skipped_at = case when v.status = 'skipped' then greatest(v_now, s.created_at) end,
      skip_reason = case when v.status = 'skipped' then 'condition_unmet' end,
      error_message = case when v.status = 'failed' then 'Condition not met' end,
      remaining_tasks = case when v.status in ('started', 'completed') then v.initial_tasks end,
      output = case when v.status = 'completed' then '[]'::jsonb end
    from verdicts v
    where s.run_id = v.run_id and s.step_slug = v.step_slug and s.status = 'created'
    returning row(s.*)::pgflow._state as state
  )
  select array_agg(c.state) into v_states from changed c;
  return v_states;
end $$;

-- 40_run/_start_runs.sql
-- Inserts runs with their step states and carries them as far as they go: conditions of root steps, maps over nothing,
-- first tasks (not claimable before p_not_before). A flow with waits needs a secret to sign their tokens. Only inserts, so it waits for nobody but a deletion of the flow, or a
-- caller with the same run id or key. A run that exists is left out of the answer.
create function pgflow._start_runs(
  p_flow_slug text, p_run_ids uuid[], p_inputs jsonb[], p_idempotency_key text default null, p_not_before timestamptz default null)
returns setof uuid
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_owner uuid := pgflow._run_owner();
  v_traceparent text := pgflow._traceparent();
  v_steps pgflow._step_definition[];
  v_has_root_map boolean;
  v_has_waits boolean;
  v_bad_type text;
  v_run_ids uuid[];
  v_ready pgflow._state[];
  v_opened pgflow._state[];
  v_ended pgflow._state[];
  v_judged pgflow._state[];
  v_failed pgflow._failed_step[];
begin
  perform pg_advisory_xact_lock_shared(pgflow._deletion_lock(p_flow_slug));
  select array_agg(row(s.step_slug, s.step_type, s.deps_count,
                       s.required_input_pattern is not null or s.forbidden_input_pattern is not null)::pgflow._step_definition),
         bool_or(s.step_type = 'map' and s.deps_count = 0), bool_or(s.step_type = 'wait')
  into v_steps, v_has_root_map, v_has_waits
  from pgflow.steps s where s.flow_slug = p_flow_slug;
  if v_steps is null and not exists (select from pgflow.flows f where f.flow_slug = p_flow_slug) then
    perform pgflow._raise_unknown_flow(p_flow_slug);
  end if;
  if v_has_waits then
    perform pgflow._wait_signing_key(p_flow_slug);
  end if;
  if v_has_root_map then
    select coalesce(jsonb_typeof(i.input), 'null') into v_bad_type from unnest(p_inputs) i(input)
    where jsonb_typeof(i.input) is distinct from 'array' limit 1;
    if v_bad_type is not null and exists (select from unnest(p_inputs) i(input) where i.input is null) then
      raise exception 'Flow % has root map steps but input is NULL', p_flow_slug;
    elsif v_bad_type is not null then
      raise exception 'Flow % has root map steps but input is not an array (got %)', p_flow_slug, v_bad_type;
    end if;
  end if;
  if exists (select from unnest(p_inputs) i(input) where i.input is null) then
    perform pgflow._raise('SF203', format('Flow "%s" needs an input, but it is NULL.', p_flow_slug),
      'SQL NULL is no JSON; the input of a run is kept and handed to its root steps.', 'Send JSON; a flow that needs nothing takes {} or the JSON null.');
  end if;

  with new_runs as (
    insert into pgflow.runs (run_id, flow_slug, input, remaining_steps, started_at, owner, idempotency_key, traceparent, start_at)
    select coalesce(n.run_id, pgflow.new_run_id()), p_flow_slug, n.input, coalesce(cardinality(v_steps), 0), v_now, v_owner, p_idempotency_key,
           v_traceparent, p_not_before
    from unnest(p_run_ids, p_inputs) n(run_id, input)
    on conflict do nothing
    returning run_id, input, nextval('pgflow.counted_runs_started')
  ), new_states as (
    insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_deps, created_at, started_at,
                                    completed_at, initial_tasks, remaining_tasks, output)
    select p_flow_slug, r.run_id, st.step_slug, x.status, st.deps_count, v_now,
           case when x.status in ('started', 'completed') then v_now end,
           case when x.status = 'completed' then v_now end,
           x.tasks,
           case when x.status in ('started', 'completed') then x.tasks end,
           case when x.status = 'completed' then '[]'::jsonb end
    from new_runs r
    cross join unnest(v_steps) st
    cross join lateral (
      select case when st.step_type <> 'map' then 1 when st.deps_count = 0 then jsonb_array_length(r.input) end as tasks
    ) t
    cross join lateral (
      select t.tasks, case when st.deps_count > 0 or st.has_condition then 'created'
                           when t.tasks = 0 then 'completed' else 'started' end as status
    ) x
    returning row(step_states.*)::pgflow._state as state
  )
  select array_agg((n.state)) filter (where (n.state).status = 'started'),
         array_agg((n.state)) filter (where (n.state).status = 'completed'),
         array_agg((n.state)) filter (where (n.state).status = 'created' and (n.state).remaining_deps = 0),
         (select array_agg(r.run_id) from new_runs r)
  into v_ready, v_ended, v_judged, v_run_ids from new_states n;

  if v_judged is not null then
    v_judged := pgflow._start_judged_steps(v_judged);
    select v_ready || array_agg(s) filter (where s.status = 'started'),
           v_ended || array_agg(s) filter (where s.status in ('completed', 'skipped')),
           (array_agg(row(s.run_id, s.step_slug, s.error_message)::pgflow._failed_step) filter (where s.status = 'failed'))
    into v_ready, v_ended, v_failed from unnest(v_judged) s;
  end if;
  if v_has_waits then
    select array_agg(s) filter (where st.step_type <> 'wait'), array_agg(s) filter (where st.step_type = 'wait')
    into v_ready, v_opened
    from unnest(v_ready) s join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug;
  end if;
  if v_steps is null then
    -- Without steps there is nothing to wait for.
    update pgflow.runs r set status = 'completed', completed_at = r.started_at, output = '{}'
    where r.run_id = any (v_run_ids);
    perform nextval('pgflow.counted_runs_completed') from unnest(v_run_ids);
    perform pgflow._send_events(v_run_ids, null, null, v_run_ids);
  else
    perform pgflow._advance(v_ended, v_ready, v_failed, v_run_ids, p_not_before, p_opened => v_opened);
  end if;
  return query select u.run_id from unnest(v_run_ids) u(run_id);
end $$;

-- 40_run/_step_event.sql
-- The payload of a step's event, by the status it has now.
create function pgflow._step_event(p_state pgflow._state)
returns jsonb
language plpgsql stable
as $$
declare
  v_base jsonb := jsonb_build_object('event_type', 'step:' || p_state.status, 'run_id', p_state.run_id,
                                     'step_slug', p_state.step_slug, 'status', p_state.status);
begin
  return v_base || case p_state.status
    when 'started' then jsonb_build_object('started_at', p_state.started_at, 'remaining_tasks', p_state.remaining_tasks,
                                           'remaining_deps', p_state.remaining_deps)
    when 'completed' then jsonb_build_object('output', p_state.output, 'completed_at', p_state.completed_at)
      || case when p_state.initial_tasks = 0 then jsonb_build_object(
           'started_at', p_state.started_at, 'remaining_tasks', p_state.remaining_tasks, 'remaining_deps', p_state.remaining_deps) else '{}' end
    when 'failed' then jsonb_build_object('error_message', p_state.error_message, 'failed_at', p_state.failed_at)
    else jsonb_build_object('skip_reason', p_state.skip_reason, 'skipped_at', p_state.skipped_at)
      || case when p_state.skip_reason = 'handler_failed' then jsonb_build_object('error_message', p_state.error_message)
              else jsonb_build_object('flow_slug', p_state.flow_slug) end
  end;
end $$;

-- 40_run/_traceparent.sql
-- The span that a start belongs to (W3C traceparent): what its caller has set for this transaction, or the header of its request, where
-- an API stands in front. Null for none, and for what is no traceparent; that costs a look at two settings.
create function pgflow._traceparent()
returns text
language plpgsql stable
as $$
declare
  v_traceparent text := nullif(current_setting('pgflow.traceparent', true), '');
  v_headers text;
begin
  if v_traceparent is null then
    v_headers := current_setting('request.headers', true);
    if v_headers is null or position('"traceparent"' in v_headers) = 0 then
      return null;
    end if;
    v_traceparent := v_headers::jsonb ->> 'traceparent';
  end if;
  return case when length(v_traceparent) <= 128
                and v_traceparent ~ '^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$' then v_traceparent end;
end $$;

-- 40_run/_unused_message_id.sql
-- The id of a message that was just sent, unless a task has it: then the ids of the queue began anew, and two tasks would share a
-- message. The dispatch asks only where the id is not above all that tasks have, which is never while ids only grow.
create function pgflow._unused_message_id(p_queue_name text, p_message_id bigint)
returns bigint
language plpgsql
as $$
begin
  if exists (select from pgflow.step_tasks t where t.queue_name = p_queue_name and t.message_id = p_message_id) then
    perform pgflow._raise('SF210', format('A new message of queue "%s" would have the id of an old one.', p_queue_name),
      format('Message %s belongs to another task: the queue was restored without its messages or made again, and its ids began anew. Nothing was changed.', p_message_id),
      'Run: select pgflow.repair_liveness(); it moves the ids beyond all old ones. Then do it again.');
  end if;
  return p_message_id;
end $$;

-- 40_run/_wait_key.sql
-- A key by its name: the Vault secret starflow_wait_token_secret, and starflow_wait_token_secret_<kid> for any name but default.
-- Null where it is missing. Every key that is there verifies; the setting wait_token_kid says which one signs.
create function pgflow._wait_key(p_kid text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._vault_secret('starflow_wait_token_secret' || case p_kid when 'default' then '' else '_' || p_kid end);
end $$;

-- 40_run/_wait_signing_key.sql
-- The key that signs now. Without one no wait could ever be resumed, so that a run of such a flow is refused at its start.
create function pgflow._wait_signing_key(p_flow_slug text, out kid text, out secret text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
  v_cannot_be_decrypted boolean;
begin
  kid := pgflow.get_setting('wait_token_kid');
  secret := pgflow._wait_key(kid);
  -- As many characters as the hash has bytes: a shorter secret is weaker than the signature.
  if secret is null or length(secret) < 32 then
    v_name := 'starflow_wait_token_secret' || case kid when 'default' then '' else '_' || kid end;
    v_cannot_be_decrypted := secret is null and pgflow._undecryptable_secrets(array[v_name]) <> '{}';
    perform pgflow._raise('SF206', format('Flow "%s" has a wait, and there is no secret to sign its tokens.', p_flow_slug),
      format('The Vault secret "%s" %s.', v_name, case when v_cannot_be_decrypted then 'cannot be decrypted'
                                                      when secret is null then 'is missing' else 'is shorter than 32 characters' end),
      case when v_cannot_be_decrypted
           then format('select vault.update_secret((select id from vault.secrets where name = %L), ''<its value>'')', v_name)
           else format('select vault.create_secret(encode(extensions.gen_random_bytes(32), ''hex''), %L)', v_name) end);
  end if;
end $$;

-- 40_run/_watch_run.sql
-- Somebody looks at this run: its events are sent for the next 5 minutes. Written at most once a minute per run. A replica
-- and a read-only transaction can only look.
create function pgflow._watch_run(p_run_id uuid)
returns void
language plpgsql
as $$
begin
  if pgflow.get_setting('events') = 'watched' and current_setting('transaction_read_only') = 'off' then
    insert into pgflow.watched_runs as w (run_id, watched_until) values (p_run_id, pgflow.clock() + interval '5 minutes')
    on conflict on constraint watched_runs_pkey do update set watched_until = excluded.watched_until
    where w.watched_until < pgflow.clock() + interval '4 minutes';
  end if;
end $$;

-- 40_run/calculate_retry_delay.sql
create function pgflow.calculate_retry_delay(base_delay numeric, attempts_count integer)
returns integer
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select least(floor(base_delay * power(2::numeric, least(greatest(attempts_count, 0), 62))), 2147483647)::integer
$$;
comment on function pgflow.calculate_retry_delay(numeric, integer) is 'Seconds before the next attempt: base_delay × 2^attempts_count, saturating.';

-- 40_run/cancel_run.sql
-- Locks the run, then its tasks and messages, like a settlement.
create function pgflow.cancel_run(run_id uuid, reason text default null)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_run pgflow.runs;
begin
  select * into v_run from pgflow.runs r where r.run_id = cancel_run.run_id for no key update;
  if v_run.run_id is null or not pgflow._may_change(v_run.owner) then
    return;
  end if;
  if v_run.status = 'started' then
    update pgflow.runs r set status = 'cancelled', cancelled_at = greatest(pgflow.clock(), r.started_at), cancel_reason = left(reason, 2000)
    where r.run_id = cancel_run.run_id
    returning * into v_run;
    perform nextval('pgflow.counted_runs_cancelled');
    perform pgflow._end_unfinished_tasks(array[cancel_run.run_id], null, 'cancelled');
    perform pgflow._send_run_event(v_run, 'run:cancelled', jsonb_build_object('cancelled_at', v_run.cancelled_at, 'reason', v_run.cancel_reason));
  end if;
  return next v_run;
end $$;
comment on function pgflow.cancel_run(uuid, text) is
  'Cancels a started run: its unfinished tasks and messages end with it, and no late report revives them. Returns the run as it is; one that has ended stays as it ended.';

-- 40_run/cancel_runs.sql
-- All runs are locked first, in the order of their ids, as every call does that takes many.
create function pgflow.cancel_runs(run_ids uuid[], reason text default null)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  return query
    select c.* from unnest(pgflow._lock_changeable_runs(cancel_runs.run_ids)) u(run_id)
    cross join lateral pgflow.cancel_run(u.run_id, cancel_runs.reason) c;
end $$;
comment on function pgflow.cancel_runs(uuid[], text) is
  'cancel_run for many runs in one transaction, whatever their order. Use it instead of calling cancel_run for each row of a query, which takes the runs in the order of that query: two such calls, or one and a worker, could wait for each other. Returns the runs that are there and that the caller may change, by their ids.';

-- 40_run/cascade_complete_taskless_steps.sql
create function pgflow.cascade_complete_taskless_steps(run_id uuid)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return 0;
end $$;
comment on function pgflow.cascade_complete_taskless_steps(uuid) is 'Kept for existing scripts; returns 0, since maps over nothing complete in the transaction that makes them ready.';

-- 40_run/claim_tasks.sql
-- Called by workers. Locks: see _claim. The plan settings are inherited by everything inside: with plain plan caching
-- each call replans (1.0 K instead of 1.7 K steps/s at batch 1), and a sequential scan planned on an empty table stays.
create function pgflow.claim_tasks(
  queue_name text, flow_slug text, worker_id uuid, qty integer, step_slug text default null, on_unsupported text default 'skip')
returns setof pgflow.claimed_task
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  return query
    select c.flow_slug, c.run_id, c.step_slug, c.task_index, c.msg_id, c.attempt, c.input, c.flow_input
    from unnest(pgflow._claim(claim_tasks.queue_name, claim_tasks.flow_slug, claim_tasks.step_slug, claim_tasks.worker_id, qty, on_unsupported)) c
    where c.kind = 'claimed';
end $$;
comment on function pgflow.claim_tasks(text, text, uuid, integer, text, text) is
  'Reads up to qty messages of one queue and claims their tasks for a running worker. attempt is the fencing token that reports must carry.';

-- 40_run/complete_task.sql
create function pgflow.complete_task(
  run_id uuid, step_slug text, task_index integer, output jsonb, worker_id uuid default null, attempt integer default null)
returns setof pgflow.step_tasks
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  perform pgflow._settle(complete_task.worker_id, jsonb_build_array(jsonb_build_object(
    'run_id', complete_task.run_id, 'step_slug', complete_task.step_slug, 'task_index', complete_task.task_index,
    'attempt', attempt, 'status', 'completed', 'output', complete_task.output::text)));
  return query select t.* from pgflow.step_tasks t
    where t.run_id = complete_task.run_id and t.step_slug = complete_task.step_slug and t.task_index = complete_task.task_index;
end $$;
comment on function pgflow.complete_task(uuid, text, integer, jsonb, uuid, integer) is
  'Completes one started task and returns its row. With worker and attempt only the current claim is accepted; a stale report changes nothing.';

-- 40_run/fail_task.sql
create function pgflow.fail_task(
  run_id uuid, step_slug text, task_index integer, error_message text, worker_id uuid default null,
  attempt integer default null, retry_delay integer default null, permanent boolean default false)
returns setof pgflow.step_tasks
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  perform pgflow._settle(fail_task.worker_id, jsonb_build_array(jsonb_build_object(
    'run_id', fail_task.run_id, 'step_slug', fail_task.step_slug, 'task_index', fail_task.task_index, 'attempt', attempt,
    'status', 'failed', 'error_message', fail_task.error_message, 'retry_delay', retry_delay, 'permanent', permanent)));
  return query select t.* from pgflow.step_tasks t
    where t.run_id = fail_task.run_id and t.step_slug = fail_task.step_slug and t.task_index = fail_task.task_index;
end $$;
comment on function pgflow.fail_task(uuid, text, integer, text, uuid, integer, integer, boolean) is
  'Ends one attempt as failed and returns the task: queued again after its delay (or retry_delay seconds), or failed when permanent or out of attempts.';

-- 40_run/get_run_with_states.sql
create function pgflow.get_run_with_states(run_id uuid)
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run pgflow.runs;
begin
  select * into v_run from pgflow.runs r where r.run_id = get_run_with_states.run_id;
  if v_run.run_id is null or not pgflow._may_see(v_run.owner) then
    return null;
  end if;
  perform pgflow._watch_run(v_run.run_id);
  -- Read after the watch is written: what changes from here on is sent.
  return (
    select jsonb_build_object(
      'run', to_jsonb(r),
      'steps', coalesce((select jsonb_agg(to_jsonb(s) order by st.step_index)
                         from pgflow.step_states s join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
                         where s.run_id = r.run_id), '[]'),
      -- A private channel does not hear public messages, nor the other way round: who listens has to know.
      'events', case pgflow._setting('events') when 'off' then 'off' else pgflow._setting('events_channel') end)
    from pgflow.runs r where r.run_id = v_run.run_id);
end $$;
comment on function pgflow.get_run_with_states(uuid) is
  'The run, its steps, and how its events are sent (private, public or off): {run, steps[], events}; null where there is none that the caller may see. Its events are sent for the next 5 minutes.';

-- 40_run/issue_wait_token.sql
-- For the server alone: who may resume a wait is the application's decision, and the owner of a run is often just the person
-- who must not. It may be issued before the wait opens, as often as needed; every token that has not expired is good.
create function pgflow.issue_wait_token(run_id uuid, step_slug text, expires_in interval default null)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow_slug text := (select r.flow_slug from pgflow.runs r where r.run_id = issue_wait_token.run_id);
  v_wait pgflow.steps;
  v_key record;
  v_expires_at timestamptz;
begin
  select * into v_wait from pgflow.steps s
  where s.flow_slug = v_flow_slug and s.step_slug = issue_wait_token.step_slug and s.step_type = 'wait';
  if v_wait.step_slug is null then
    perform pgflow._raise('SF209', format('There is no wait "%s" in run %s.', issue_wait_token.step_slug, issue_wait_token.run_id),
      case when v_flow_slug is null then 'There is no such run.' else format('It is a run of flow "%s".', v_flow_slug) end,
      coalesce('Its waits: ' || (select string_agg(s.step_slug, ', ' order by s.step_index) from pgflow.steps s
                                 where s.flow_slug = v_flow_slug and s.step_type = 'wait') || '.',
               'Name a run of a flow with a wait.'));
  end if;
  -- A week, and the time that the wait is open: a token does not end before the wait it is for.
  v_expires_at := pgflow.clock() + coalesce(expires_in, interval '7 days' + coalesce(make_interval(secs => v_wait.opt_timeout), '0'));
  if v_expires_at <= pgflow.clock() then
    perform pgflow._raise('SF001', format('A token cannot expire in %s.', expires_in), 'That is not in the future.',
      'Leave expires_in out, or give an interval above zero.');
  end if;
  select * into v_key from pgflow._wait_signing_key(v_flow_slug);
  return pgflow._sign_wait_token('queue', issue_wait_token.run_id::text, issue_wait_token.step_slug,
                                 extract(epoch from v_expires_at)::bigint, v_key.kid, v_key.secret);
end $$;
comment on function pgflow.issue_wait_token(uuid, text, interval) is
  'A signed token with which resume_wait ends this wait of this run. Good for 7 days and the timeout of the wait, unless expires_in says otherwise. Give it only to whoever may decide.';

-- 40_run/maybe_complete_run.sql
create function pgflow.maybe_complete_run(run_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A run completes in the transaction that ends its last step.
end $$;
comment on function pgflow.maybe_complete_run(uuid) is 'Kept for existing scripts; does nothing, since a run completes in the transaction that ends its last step.';

-- 40_run/open_waits.sql
create view pgflow.open_waits as
  select r.flow_slug, w.run_id, w.step_slug, w.opened_at, w.due_at
  from pgflow.waits w join pgflow.runs r on r.run_id = w.run_id
  where w.opened_at is not null;
comment on view pgflow.open_waits is 'The durable waits that stand open, and when each times out (null: never).';

-- 40_run/pause_flow.sql
create function pgflow.pause_flow(flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.flows f set paused_at = coalesce(f.paused_at, pgflow.clock()) where f.flow_slug = pause_flow.flow_slug;
  if not found then
    perform pgflow._raise_unknown_flow(pause_flow.flow_slug);
  end if;
end $$;
comment on function pgflow.pause_flow(text) is 'Nothing of the flow is claimed from now on; started tasks finish, runs can be started, and queued work waits.';

-- 40_run/resume_flow.sql
create function pgflow.resume_flow(flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.flows f set paused_at = null where f.flow_slug = resume_flow.flow_slug;
  if not found then
    perform pgflow._raise_unknown_flow(resume_flow.flow_slug);
  end if;
end $$;
comment on function pgflow.resume_flow(text) is 'Ends a pause: queued work is claimed again.';

-- 40_run/resume_wait.sql
-- The right to resume is the token alone, whoever brings it: definer, so that it needs nothing else. Locks the run, then goes
-- down the levels like a settlement.
create function pgflow.resume_wait(token text, payload jsonb default null)
returns pgflow.wait_answer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_token record := pgflow._read_wait_token(token);
  v_payload jsonb := coalesce(payload, 'null');
  v_run pgflow.runs;
  v_feeds_map boolean;
begin
  if v_token.placement <> 'queue' then
    perform pgflow._raise('SF209', format('This token is for a wait of a run with placement "%s".', v_token.placement),
      'The tables of step queues know nothing of that run.', 'Resume it where it runs.');
  end if;
  -- A statement of its own: what follows sees what the former holder of the run has committed.
  select * into v_run from pgflow.runs r where r.run_id = v_token.run_id::uuid for no key update;
  select s.feeds_map into v_feeds_map from pgflow.steps s
  where s.flow_slug = v_run.flow_slug and s.step_slug = v_token.step_slug and s.step_type = 'wait';
  if v_feeds_map is null then
    perform pgflow._raise('SF209', format('There is no wait "%s" in run %s.', v_token.step_slug, v_token.run_id),
      'The token is genuine: its flow was deleted, or compiled anew without the wait.', 'Start a new run, and issue a token for it.');
  elsif v_feeds_map and jsonb_typeof(v_payload) <> 'array' and pgflow._feeds_map(v_run.flow_slug, v_run.run_id, v_token.step_slug) then
    perform pgflow._raise('SF203', format('The payload of wait "%s" must be an array.', v_token.step_slug),
      format('A map goes over it, and it is %s.', case jsonb_typeof(v_payload) when 'null' then 'null' else 'of type ' || jsonb_typeof(v_payload) end),
      'Resume it again with an array. Nothing was changed.');
  end if;
  return row(v_run.run_id, v_token.step_slug, pgflow._end_wait(v_run, v_token.step_slug, v_payload))::pgflow.wait_answer;
end $$;
comment on function pgflow.resume_wait(text, jsonb) is
  'Resumes the wait that the token names; the payload is its output. The outcome tells what happened: accepted, early (the wait is not open yet and takes it then), already_resumed, timed_out, skipped or run_ended. Only with the first two does this payload count.';

-- 40_run/retry_run.sql
-- Locks the run, then its states and tasks. What has completed keeps its output; a step that failed, or whose tasks were
-- cancelled, runs again with a fresh budget (the attempts it had are forgiven); a wait opens again, for its whole timeout, and
-- what had not begun has its whole start delay before it. What was due later, by start_at or by the delay of a retry, still is. A step that failed its condition is
-- judged again; skipped steps stay skipped.
create function pgflow.retry_run(run_id uuid)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_run pgflow.runs;
  v_tasks pgflow.step_tasks[];
  v_waiting pgflow.step_tasks[];
  v_restarted pgflow._state[];
  v_undispatched pgflow._state[];
  v_judged pgflow._state[];
  v_started pgflow._state[];
  v_opened pgflow._state[];
begin
  select * into v_run from pgflow.runs r where r.run_id = retry_run.run_id for no key update;
  if v_run.run_id is null or not pgflow._may_change(v_run.owner) then
    return;
  end if;
  if v_run.status not in ('failed', 'cancelled') then
    return next v_run;
    return;
  end if;

  -- The end of a run ends its tasks; one that is open all the same, and its message, belong to the run as it was.
  perform pgflow._end_unfinished_tasks(array[retry_run.run_id], null, 'cancelled');
  update pgflow.runs r set
    status = 'started', failed_at = null, cancelled_at = null, cancel_reason = null,
    remaining_steps = (select count(*) from pgflow.step_states s where s.run_id = r.run_id and s.status not in ('completed', 'skipped'))
  where r.run_id = retry_run.run_id
  returning * into v_run;

  -- Every step that had tasks goes on with those that did not complete.
  update pgflow.step_states s set
    status = 'started', failed_at = null, error_message = null,
    remaining_tasks = (select count(*) from pgflow.step_tasks t
                       where t.run_id = s.run_id and t.step_slug = s.step_slug and t.status <> 'completed')
  where s.run_id = retry_run.run_id and s.status in ('failed', 'started')
    and exists (select from pgflow.step_tasks t where t.run_id = s.run_id and t.step_slug = s.step_slug);
  -- A step that failed before it had any was refused by its condition.
  update pgflow.step_states s set status = 'created', failed_at = null, error_message = null, remaining_tasks = null
  where s.run_id = retry_run.run_id and s.status = 'failed';

  with again as (
    update pgflow.step_tasks t set
      status = case st.step_type when 'wait' then 'waiting' else 'queued' end, attempts_forgiven = t.attempts_count, failed_at = null, completed_at = null, error_message = null,
      output = null, requeued_count = 0, permanently_stalled_at = null, message_id = null,
      due_at = greatest(t.due_at, v_run.start_at,
                        case when t.attempts_count = 0 then clock_timestamp() + make_interval(secs => st.opt_start_delay) end)
    from pgflow.steps st
    where t.run_id = retry_run.run_id and t.status in ('failed', 'cancelled')
      and st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
      and exists (select from pgflow.step_states s where s.run_id = t.run_id and s.step_slug = t.step_slug and s.status = 'started')
    returning t as task
  )
  select array_agg(a.task) filter (where (a.task).status = 'queued'), array_agg(a.task) filter (where (a.task).status = 'waiting')
  into v_tasks, v_waiting from again a;
  perform pgflow._resend_messages(v_tasks);
  insert into pgflow.waits (run_id, step_slug, opened_at, due_at)
  select w.run_id, w.step_slug, pgflow.clock(), greatest(pgflow.clock(), v_run.start_at) + make_interval(secs => st.opt_timeout)
  from unnest(v_waiting) w join pgflow.steps st on st.flow_slug = w.flow_slug and st.step_slug = w.step_slug;

  -- Steps that had started in the very call that failed the run were never dispatched.
  select array_agg(row(s.*)::pgflow._state) filter (where s.status = 'started' and t.run_id is null),
         array_agg(row(s.*)::pgflow._state) filter (where s.status = 'started' and t.run_id is not null),
         array_agg(row(s.*)::pgflow._state) filter (where s.status = 'created' and s.remaining_deps = 0)
  into v_undispatched, v_restarted, v_judged
  from pgflow.step_states s
  left join lateral (select x.run_id from pgflow.step_tasks x where x.run_id = s.run_id and x.step_slug = s.step_slug limit 1) t on true
  where s.run_id = retry_run.run_id;

  perform pgflow._send_run_event(v_run, 'run:started', jsonb_build_object(
    'input', v_run.input, 'remaining_steps', v_run.remaining_steps, 'started_at', v_run.started_at));
  perform pgflow._send_events(null, v_restarted, null, null);
  if v_judged is not null then
    v_judged := pgflow._start_judged_steps(v_judged);
    select array_agg(j) filter (where st.step_type <> 'wait'), array_agg(j) filter (where st.step_type = 'wait')
    into v_started, v_opened
    from unnest(v_judged) j join pgflow.steps st on st.flow_slug = j.flow_slug and st.step_slug = j.step_slug
    where j.status = 'started';
  end if;
  perform pgflow._advance(
    (select array_agg(j) from unnest(v_judged) j where j.status in ('completed', 'skipped')),
    v_undispatched || v_started,
    (select array_agg(row(j.run_id, j.step_slug, j.error_message)::pgflow._failed_step) from unnest(v_judged) j where j.status = 'failed'),
    p_not_before => v_run.start_at, p_opened => v_opened);
  return query select r.* from pgflow.runs r where r.run_id = retry_run.run_id;
end $$;
comment on function pgflow.retry_run(uuid) is
  'Starts a failed or cancelled run again where it stopped: completed steps and map elements keep their outputs. Returns the run; any other run is returned as it is.';

-- 40_run/retry_runs.sql
-- All runs are locked first, in the order of their ids, as every call does that takes many.
create function pgflow.retry_runs(run_ids uuid[])
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  return query
    select c.* from unnest(pgflow._lock_changeable_runs(retry_runs.run_ids)) u(run_id)
    cross join lateral pgflow.retry_run(u.run_id) c;
end $$;
comment on function pgflow.retry_runs(uuid[]) is
  'retry_run for many runs in one transaction, whatever their order: see cancel_runs. Returns the runs that are there and that the caller may change, by their ids.';

-- 40_run/schedule_flow.sql
-- A pg_cron job that starts runs. With the rights of its owner, to whom the jobs belong: the server's role may not use pg_cron.
-- The command is of one form only, and a job of that name that does something else is left alone.
create function pgflow.schedule_flow(job_name text, schedule text, flow_slug text, input jsonb)
returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_command text;
begin
  if not exists (select from pgflow.flows f where f.flow_slug = schedule_flow.flow_slug) then
    perform pgflow._raise_unknown_flow(schedule_flow.flow_slug);
  end if;
  if input is null then
    perform pgflow._raise('SF203', format('Flow "%s" needs an input, but it is NULL.', schedule_flow.flow_slug),
      'Every run of the schedule gets this input.', 'Send JSON; a flow that needs nothing takes {} or the JSON null.');
  end if;
  perform pgflow._check_cron();
  select j.command into v_command from cron.job j
  where j.jobname = schedule_flow.job_name and j.username = current_user and not pgflow._is_flow_schedule(j.command);
  if v_command is not null then
    perform pgflow._raise('SF205', format('Job "%s" is not a schedule of a flow.', schedule_flow.job_name),
      'pg_cron has a job of that name that does something else.', 'Choose another job name.');
  end if;
  return cron.schedule(schedule_flow.job_name, schedule_flow.schedule,
    format('select pgflow.start_flow(%L, %L::jsonb)', schedule_flow.flow_slug, schedule_flow.input));
end $$;
comment on function pgflow.schedule_flow(text, text, text, jsonb) is
  'Starts a run on a pg_cron schedule (five fields, or ''N seconds''), with the rights of the SQL core''s owner; the same job name again replaces it. Returns the job''s id.';

-- 40_run/settle_and_claim.sql
-- The hot call of a worker: one round trip. Settles first and claims last: a claim never waits, so the run locks that
-- the settlement takes cannot be part of a cycle. It waits for a run no longer than 250 ms (55P03): a run that somebody holds must not
-- keep the reports of others, and the claim, from their end. The worker then sets that run's reports aside.
create function pgflow.settle_and_claim(
  worker_id uuid, reports jsonb, queue_name text, flow_slug text, qty integer, step_slug text default null,
  on_unsupported text default 'skip', alone boolean default null)
returns setof pgflow.work_item
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off set lock_timeout = '250ms'
as $$
declare
  -- Arrays, not sets: a call of a function that returns a set is a plan to start and a tuplestore to fill, each level again.
  v_refused pgflow._refused_report[];
  v_work pgflow.work_item[];
begin
  if settle_and_claim.worker_id is null or jsonb_typeof(reports) is distinct from 'array' then
    perform pgflow._check_reports(settle_and_claim.worker_id, reports);
  end if;
  v_refused := pgflow._settle(settle_and_claim.worker_id, reports);
  if v_refused is not null then
    return query
      select 'refused', null::text, r.run_id, r.step_slug, r.task_index, null::bigint, null::integer, null::jsonb, null::jsonb, null::integer, r.reason
      from unnest(v_refused) r;
  end if;
  v_work := pgflow._claim(settle_and_claim.queue_name, settle_and_claim.flow_slug, settle_and_claim.step_slug,
                          settle_and_claim.worker_id, qty, on_unsupported, alone);
  if v_work is not null then
    return query select w.* from unnest(v_work) w;
  end if;
end $$;
comment on function pgflow.settle_and_claim(uuid, jsonb, text, text, integer, text, text, boolean) is
  'settle_tasks and claim_tasks in one round trip. Rows by kind: claimed; refused (a report that was not accepted, with its reason); unsupported and halted (messages of others); stalled; suspect; worker (reason: why nothing was claimed). A suspect was put back since its worker had vanished, and may have been the cause: alone => false leaves them and tells of them; true, for a worker that holds nothing, claims one and nothing else; null, the default, makes no difference.';

-- 40_run/settle_tasks.sql
create function pgflow.settle_tasks(worker_id uuid, reports jsonb)
returns setof pgflow.settled_report
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_refused pgflow._refused_report[];
begin
  perform pgflow._check_reports(settle_tasks.worker_id, reports);
  v_refused := pgflow._settle(settle_tasks.worker_id, reports);
  return query
    select u.run_id, u.step_slug, u.task_index, r.reason is null, r.reason
    from unnest(pgflow._parse_reports(reports)) with ordinality
      u(run_id, step_slug, task_index, attempt, status, output, error_message, error_name, error_stack, retry_delay, permanent, forgiven, problem, ordinal)
    left join unnest(v_refused) r on r.ordinal = u.ordinal
    order by u.ordinal;
end $$;
comment on function pgflow.settle_tasks(uuid, jsonb) is
  'Reports the outcome of many attempts of many runs: [{run_id, step_slug, task_index, attempt, status: completed|failed, output (JSON text), error_message, error: {name, stack}, retry_delay (s), permanent, forgiven}]. forgiven: the platform failed, not the handler; the attempt does not count, ten times a task at most, unless the step has one attempt. One row per report: accepted, or the reason why not.';

-- 40_run/start_flow.sql
-- Definer, so that a trigger of a signed-in person's may start a run; it is then theirs.
create function pgflow.start_flow(
  flow_slug text, input jsonb, run_id uuid default null, idempotency_key text default null, start_at timestamptz default null)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_run_id uuid := coalesce(start_flow.run_id, pgflow.new_run_id());
  v_started uuid;
begin
  if start_flow.idempotency_key is not null then
    perform pgflow._check_idempotency_key(start_flow.flow_slug, start_flow.idempotency_key);
  end if;
  if start_at = 'infinity' then
    perform pgflow._raise('SF203', format('A run of flow "%s" cannot start at infinity.', start_flow.flow_slug),
      'It would be open for ever.', 'Give a moment, or leave start_at out.');
  end if;
  select s into v_started from pgflow._start_runs(
    start_flow.flow_slug, array[v_run_id], array[start_flow.input], start_flow.idempotency_key, start_at) s;
  if v_started is null then
    -- The same key of the same owner again: the run that it started, whatever run id was asked for now.
    v_run_id := coalesce((select r.run_id from pgflow.runs r
                          where r.flow_slug = start_flow.flow_slug and r.idempotency_key = start_flow.idempotency_key
                            and r.owner is not distinct from pgflow._run_owner()), v_run_id);
    perform pgflow._check_run_ids(start_flow.flow_slug, array[v_run_id]);
  end if;
  return query select r.* from pgflow.runs r where r.run_id = v_run_id;
end $$;
comment on function pgflow.start_flow(text, jsonb, uuid, text, timestamptz) is
  'Starts a run and returns it; none of its work is claimable before start_at. The same run_id or idempotency_key of the same caller again gives the existing run of the same flow.';

-- 40_run/start_flow_with_states.sql
create function pgflow.start_flow_with_states(flow_slug text, input jsonb, run_id uuid default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_id uuid := coalesce(start_flow_with_states.run_id, pgflow.new_run_id());
begin
  perform pgflow._watch_run(v_run_id);
  perform pgflow.start_flow(start_flow_with_states.flow_slug, start_flow_with_states.input, v_run_id);
  return pgflow.get_run_with_states(v_run_id);
end $$;
comment on function pgflow.start_flow_with_states(text, jsonb, uuid) is 'Starts a run and returns it with its steps, as get_run_with_states does.';

-- 40_run/start_flows.sql
create function pgflow.start_flows(flow_slug text, inputs jsonb, run_ids uuid[] default null)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_inputs jsonb[];
  v_run_ids uuid[];
  v_ordered_ids uuid[];
  v_started uuid[];
begin
  if jsonb_typeof(inputs) is distinct from 'array' then
    perform pgflow._raise('SF203', format('The inputs for flow "%s" must be one JSON array.', start_flows.flow_slug),
      format('Got %s.', coalesce(jsonb_typeof(inputs), 'null')), 'Send one element per run.');
  end if;
  if jsonb_array_length(inputs) > 1000 and not pgflow._caller_is_server() then
    perform pgflow._raise('SF203', format('Too many inputs for flow "%s" in one call.', start_flows.flow_slug),
      format('%s inputs; a client may send 1000.', jsonb_array_length(inputs)), 'Send them in several calls, or start them from a server.');
  end if;
  if run_ids is not null and cardinality(run_ids) <> jsonb_array_length(inputs) then
    perform pgflow._raise('SF203', format('Flow "%s" needs one run id for each input.', start_flows.flow_slug),
      format('%s inputs, %s run ids.', jsonb_array_length(inputs), cardinality(run_ids)), 'Leave run_ids out, or send as many as inputs.');
  end if;
  -- By their order, not by their subscripts: an array may begin at another one, and one of arrays has two.
  v_run_ids := array(select u from unnest(run_ids) u);
  select array_agg(i.value order by i.ordinality),
         array_agg(coalesce(v_run_ids[i.ordinality], pgflow.new_run_id()) order by i.ordinality)
  into v_inputs, v_run_ids
  from jsonb_array_elements(inputs) with ordinality i;
  if v_inputs is null then
    return;
  end if;
  if start_flows.run_ids is null then
    v_started := array(select s from pgflow._start_runs(start_flows.flow_slug, v_run_ids, v_inputs) s);
  else
    -- Ids that others may ask for at the same time are inserted in their order: of two starts one waits for the other.
    select array_agg(u.run_id order by u.run_id, u.ordinal), array_agg(u.input order by u.run_id, u.ordinal) into v_ordered_ids, v_inputs
    from unnest(v_run_ids, v_inputs) with ordinality u(run_id, input, ordinal);
    v_started := array(select s from pgflow._start_runs(start_flows.flow_slug, v_ordered_ids, v_inputs) s);
  end if;
  if cardinality(v_started) < cardinality(v_run_ids) then
    perform pgflow._check_run_ids(start_flows.flow_slug, array(select u from unnest(v_run_ids) u except select s from unnest(v_started) s));
  end if;
  return query
    select r.* from unnest(v_run_ids) with ordinality u(run_id, ordinal)
    join pgflow.runs r on r.run_id = u.run_id order by u.ordinal;
end $$;
comment on function pgflow.start_flows(text, jsonb, uuid[]) is
  'Starts one run for each element of the JSON array inputs, of which a client may send 1000. A run id of the same caller that exists gives its run back, unchanged; one of another flow or caller is refused.';

-- 40_run/start_ready_steps.sql
create function pgflow.start_ready_steps(run_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A step starts in the transaction that made it ready.
end $$;
comment on function pgflow.start_ready_steps(uuid) is 'Kept for existing scripts; does nothing, since a step starts in the transaction that makes it ready.';

-- 40_run/start_tasks.sql
-- For callers that read messages themselves; our own workers use claim_tasks. Messages that cannot be claimed are left
-- as they are: they come back when the caller's read is over. Nothing is claimed behind a fence or for a worker that was told to
-- stop, so that neither has to be known to the caller; one without a row is refused by the foreign key. Locks task rows with skip locked.
create function pgflow.start_tasks(
  flow_slug text, msg_ids bigint[], worker_id uuid, queue_name text default null, step_slug text default null)
returns setof pgflow.step_task_record
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_queue text := coalesce(start_tasks.queue_name, lower(start_tasks.flow_slug collate "C"));
  v_known bigint[];
begin
  if msg_ids is null or cardinality(msg_ids) = 0 then
    return;
  end if;
  if exists (select from pgflow.flows f where f.flow_slug = start_tasks.flow_slug and f.queue_mode = 'step')
     and (start_tasks.queue_name is null or start_tasks.step_slug is null) then
    perform pgflow._refuse_subscription(v_queue, start_tasks.flow_slug, start_tasks.step_slug);
  end if;
  if exists (select from pgflow.flows f where f.flow_slug = start_tasks.flow_slug and f.paused_at is not null)
     or exists (select from pgflow._worker_state(start_tasks.worker_id) w where w.state in ('deprecated', 'fenced')) then
    return;
  end if;
  -- Only messages with a queued task of this subscription: a released worker may hold others, which are its own affair.
  v_known := array(
    select t.message_id from pgflow.step_tasks t
    where t.queue_name = v_queue and t.message_id = any (msg_ids) and t.message_id is not null and t.status = 'queued'
      -- for Postgres 15 and 16: see _claim_messages
      and t.message_id between (select min(i.id) from unnest(msg_ids) i(id)) and (select max(i.id) from unnest(msg_ids) i(id))
      and t.flow_slug = start_tasks.flow_slug and (start_tasks.step_slug is null or t.step_slug = start_tasks.step_slug));
  if cardinality(v_known) = 0 then
    return;
  end if;
  return query
    select c.flow_slug, c.run_id, c.step_slug, c.input, c.msg_id, c.task_index, c.flow_input
    from unnest(pgflow._claim_messages(v_queue, start_tasks.flow_slug, start_tasks.step_slug, start_tasks.worker_id, v_known, null, false, true)) c
    where c.kind = 'claimed';
end $$;
comment on function pgflow.start_tasks(text, bigint[], uuid, text, text) is
  'Claims the queued tasks behind messages that the caller has read; none of a paused flow, and none for a worker that is deprecated, stopped or fenced. Without queue and step: the default queue of a plain flow.';

-- 40_run/unschedule_flow.sql
create function pgflow.unschedule_flow(job_name text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  if not exists (select from cron.job j where j.jobname = unschedule_flow.job_name and j.username = current_user
                 and pgflow._is_flow_schedule(j.command)) then
    return false;
  end if;
  return cron.unschedule(unschedule_flow.job_name);
end $$;
comment on function pgflow.unschedule_flow(text) is 'Removes a schedule that was made with schedule_flow; false where there is none of that name.';

-- 50_recovery/_advance_message_ids.sql
-- A queue whose ids began anew (restored without its messages, or made again by hand) would give a new message the id of an old one,
-- which a task has or its archive. Moves its ids beyond those. Takes no lock, which would hold up every start and settlement: between
-- the look and the move senders would have to draw as many ids as are left out before one came twice, and then its insert would be
-- refused. With its owner's rights: whoever may send may not set sequences.
create function pgflow._advance_message_ids(p_queue_name text)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_left_out constant bigint := 1000000;
  v_sequence regclass := pg_get_serial_sequence(format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'q')), 'msg_id');
  v_known bigint := (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = p_queue_name and t.message_id is not null);
  v_archive text := format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'a'));
  v_archived bigint;
begin
  if to_regclass(v_archive) is not null then
    execute format('select max(a.msg_id) from %s a', v_archive) into v_archived;
  end if;
  v_known := greatest(v_known, v_archived);
  if v_known > coalesce(pg_sequence_last_value(v_sequence), 0) then
    perform setval(v_sequence, v_known + c_left_out);
  end if;
end $$;

-- 50_recovery/_expire_waits.sql
-- Ends the waits of these runs that are due: a wait that timed out has failed, and when_exhausted says what follows. The
-- caller holds the runs. Returns how many there were.
create function pgflow._expire_waits(p_run_ids uuid[])
returns integer
language plpgsql
as $$
declare
  v_expired pgflow._ended_task[];
  v_result record;
begin
  with due as (
    delete from pgflow.waits w using unnest(p_run_ids) u(run_id)
    where w.run_id = u.run_id and w.due_at <= pgflow.clock()
    returning w.run_id, w.step_slug, w.due_at
  ), changed as (
    update pgflow.step_tasks t set
      status = 'failed', failed_at = greatest(pgflow.clock(), t.queued_at),
      error_message = format('Timed out: nobody resumed this wait before %s', to_char(d.due_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'))
    from due d
    where t.run_id = d.run_id and t.step_slug = d.step_slug and t.status = 'waiting'
    returning row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, null, t.error_message)::pgflow._ended_task as task
  )
  select array_agg(c.task) into v_expired from changed c;
  if v_expired is null then
    return 0;
  end if;
  v_result := pgflow._exhaust_steps(v_expired);
  perform pgflow._advance(v_result.skipped_steps, null, v_result.failed_steps);
  return cardinality(v_expired);
end $$;

-- 50_recovery/_judge_stalled.sql
-- Which stalled tasks run again, and which end. Beside others: the isolate or process of its worker held other tasks too, of which
-- each may have brought it down; such an attempt is forgiven, and the task is claimed alone from then on (_claim_messages). What stalls
-- alone has used up its attempt. A task with one attempt never runs twice, and none is put back more often than max_requeues.
-- Only reads, and waits for nobody: recovery inside a claim asks as well.
create function pgflow._judge_stalled(
  p_tasks pgflow.step_tasks[], out requeued pgflow.step_tasks[], out ended pgflow.step_tasks[], out lone pgflow.step_tasks[])
language plpgsql
as $$
declare
  v_max_requeues integer := pgflow._setting('max_requeues')::integer;
  v_workers uuid[];
  v_queue text;
  v_ids bigint[];
  v_held jsonb := '[]';
begin
  if p_tasks is null then
    return;
  end if;
  -- Those that lived with the workers of these tasks, themselves included.
  v_workers := array(
    select distinct w.worker_id
    from unnest(p_tasks) t
    join pgflow.workers o on o.worker_id = t.last_worker_id
    join pgflow.workers w on coalesce(w.execution_id, w.worker_id) = coalesce(o.execution_id, o.worker_id));
  for v_queue in
    select distinct w.queue_name from pgflow.workers w where w.worker_id = any (v_workers)
    union select t.queue_name from unnest(p_tasks) t order by 1
  loop
    begin
      -- A queue that is being dropped is not waited for; its tasks go with it.
      execute format('lock table pgmq.%I in access share mode nowait', pgmq.format_table_name(v_queue, 'q'));
      execute format('select array_agg(q.msg_id) from pgmq.%I q where q.read_ct > 0', pgmq.format_table_name(v_queue, 'q')) into v_ids;
    exception when undefined_table or lock_not_available then
      continue;
    end;
    v_held := v_held || coalesce((
      select jsonb_agg(jsonb_build_array(t.last_worker_id, t.run_id, t.step_slug, t.task_index))
      from pgflow.step_tasks t
      where t.queue_name = v_queue and t.message_id = any (v_ids) and t.message_id is not null
        and t.status = 'started' and t.last_worker_id = any (v_workers)), '[]');
  end loop;
  -- And what an earlier look has found of them already.
  v_held := v_held || coalesce((
    select jsonb_agg(jsonb_build_array(a.worker_id, a.run_id, a.step_slug, a.task_index))
    from pgflow.task_attempts a
    where a.reason = 'stalled' and a.ended_at >= (select min(t.started_at) from unnest(p_tasks) t) and a.worker_id = any (v_workers)), '[]');

  with held as (
    select coalesce(w.execution_id, w.worker_id) as execution_id, count(distinct h.value - 0) as tasks
    from jsonb_array_elements(v_held) h join pgflow.workers w on w.worker_id = (h.value ->> 0)::uuid
    group by 1
  ), judged as (
    select t.task, coalesce((
             select h.tasks > 1 from held h join pgflow.workers w on coalesce(w.execution_id, w.worker_id) = h.execution_id
             where w.worker_id = (t.task).last_worker_id), false) as is_beside_others,
           coalesce(s.opt_max_attempts, f.opt_max_attempts) as max_attempts
    from (select u::pgflow.step_tasks as task from unnest(p_tasks) u) t
    join pgflow.steps s on s.flow_slug = (t.task).flow_slug and s.step_slug = (t.task).step_slug
    join pgflow.flows f on f.flow_slug = s.flow_slug
  ), decided as (
    select j.task, j.is_beside_others,
           (j.task).requeued_count < v_max_requeues and j.max_attempts > 1
             and (j.task).attempts_count - (j.task).attempts_forgiven < j.max_attempts + j.is_beside_others::integer as runs_again
    from judged j
  )
  select array_agg(jsonb_populate_record(d.task, jsonb_build_object('attempts_forgiven', (d.task).attempts_forgiven + d.is_beside_others::integer)))
           filter (where d.runs_again),
         array_agg(d.task) filter (where not d.runs_again),
         array_agg(d.task) filter (where not d.runs_again and not d.is_beside_others)
  into requeued, ended, lone from decided d;
end $$;

-- 50_recovery/_lost_tasks.sql
-- Tasks of steps that these queues serve which need a new message: queued, or started and past their recovery boundary, and their message
-- is gone, hidden for ever, or in a queue that does not serve their step. Of these runs, or (null) of all open ones; at most so many. Each
-- open task is looked at once, from its run, whatever the statistics of tables that just filled or emptied say. Volatile: see
-- _unreachable_tasks.
create function pgflow._lost_tasks(p_queue_names text[], p_run_ids uuid[], p_max integer)
returns setof pgflow.step_tasks
language plpgsql volatile
as $$
declare
  v_flow_slugs text[] := case when p_run_ids is not null then array(select distinct r.flow_slug from pgflow.runs r where r.run_id = any (p_run_ids)) end;
  v_queue text;
  v_found integer := 0;
  v_more integer;
begin
  for v_queue in
    select q.name from unnest(p_queue_names) with ordinality q(name, place)
    where v_flow_slugs is null
       or exists (select from pgflow._routes s where s.queue_name = q.name and s.flow_slug = any (v_flow_slugs))
    order by q.place
  loop
    exit when v_found >= p_max;
    return query execute format(
      'select t.* from %s
       -- offset: not to be turned into a plan that begins elsewhere.
       cross join lateral (
         select t.* from pgflow.step_tasks t
         join pgflow.step_states x on x.run_id = t.run_id and x.step_slug = t.step_slug and x.status = ''started''
         join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = $2 and s.step_type <> ''wait''
         join pgflow.flows f on f.flow_slug = t.flow_slug
         where t.run_id = r.run_id
           and (t.queue_name <> $2 or (not exists (select from pgmq.%I q where q.msg_id = t.message_id and q.vt < ''infinity'')
             and not exists (select from pgflow.parked_tasks p where p.run_id = t.run_id and p.step_slug = t.step_slug and p.task_index = t.task_index)))
           and (t.status = ''queued'' or (t.status = ''started''
             and coalesce(t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock(), true)))
         offset 0) t
       limit $3',
      case when p_run_ids is null then '(select x.run_id from pgflow.runs x where x.status = ''started''
                  and x.flow_slug in (select f.flow_slug from pgflow.steps f where f.queue_name = $2)) r'
           else '(select x.run_id from unnest($1) u(id) cross join lateral (select x.* from pgflow.runs x where x.run_id = u.id offset 0) x
                  where x.status not in (''completed'', ''failed'', ''cancelled'')
                    and x.flow_slug in (select f.flow_slug from pgflow.steps f where f.queue_name = $2)) r' end,
      pgmq.format_table_name(v_queue, 'q')) using p_run_ids, v_queue, p_max - v_found;
    get diagnostics v_more = row_count;
    v_found := v_found + v_more;
  end loop;
end $$;

-- 50_recovery/_names_attempt.sql
-- Whether an entry of release_tasks can be read. (pg_input_is_valid, which would ask without a subtransaction, came after Postgres 15.)
create function pgflow._names_attempt(p_entry jsonb)
returns boolean
language plpgsql stable
as $$
begin
  return (
    select e.run_id is not null and e.step_slug is not null and e.task_index is not null and e.attempt is not null
    from jsonb_to_record(p_entry) e(run_id uuid, step_slug text, task_index integer, attempt integer, started boolean));
exception when data_exception then
  return false;
end $$;

-- 50_recovery/_recover_stalled_tasks.sql
-- Puts the stalled tasks of these runs back, or ends those that have no attempt or requeue left. The caller holds the
-- runs. Returns how many were put back.
create function pgflow._recover_stalled_tasks(p_run_ids uuid[])
returns integer
language plpgsql
as $$
declare
  v_judged record;
  v_ended pgflow._ended_task[];
  v_skipped_steps pgflow._state[];
  v_failed_steps pgflow._failed_step[];
begin
  v_judged := pgflow._judge_stalled((select array_agg(t) from pgflow._stalled_tasks(p_run_ids) t));

  if v_judged.ended is not null then
    with kept as (
      insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason, error_message)
      select t.run_id, t.step_slug, t.task_index, t.attempts_count, t.last_worker_id, t.started_at, greatest(pgflow.clock(), t.started_at),
             'stalled', 'The worker did not report before the recovery boundary'
      from unnest(v_judged.ended) t
      on conflict on constraint task_attempts_pkey do nothing
    ), changed as (
      update pgflow.step_tasks t set
        status = 'failed', failed_at = greatest(pgflow.clock(), t.queued_at, t.started_at), permanently_stalled_at = pgflow.clock(),
        error_message = format('Stalled: no report came back in %s attempts, the last started at %s', t.attempts_count - t.attempts_forgiven, t.started_at)
          || case when t.requeued_count > 0 and exists (
               select from unnest(v_judged.lone) l where l.run_id = t.run_id and l.step_slug = t.step_slug and l.task_index = t.task_index)
             then '. Its worker vanished while it ran this task alone' else '' end
      from unnest(v_judged.ended) e
      where t.run_id = e.run_id and t.step_slug = e.step_slug and t.task_index = e.task_index and t.status = 'started'
      returning row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, null, t.error_message)::pgflow._ended_task as task
    )
    select array_agg(c.task) into v_ended from changed c;
    if v_ended is not null then
      select x.skipped_steps, x.failed_steps into v_skipped_steps, v_failed_steps from pgflow._exhaust_steps(v_ended) x;
      perform pgflow._advance(v_skipped_steps, null, v_failed_steps);
    end if;
  end if;
  if v_judged.requeued is null then
    return 0;
  end if;
  return pgflow._requeue_tasks(v_judged.requeued);
end $$;

-- 50_recovery/_requeue_stalled_messages.sql
-- Recovery inside a claim, so that it never depends on cron alone: the caller holds these messages. Never waits: runs
-- are taken with skip locked. Only puts tasks back; a task that must end is left to requeue_stalled_tasks, because
-- ending a run waits for tasks and messages that other claims may hold. Returns the messages that were put back.
create function pgflow._requeue_stalled_messages(p_queue_name text, p_ids bigint[])
returns bigint[]
language plpgsql
as $$
declare
  v_runs uuid[];
  v_tasks pgflow.step_tasks[];
begin
  if p_ids is null or cardinality(p_ids) = 0 then
    return null;
  end if;
  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.status not in ('completed', 'failed', 'cancelled') and r.run_id in (
      select t.run_id from pgflow.step_tasks t
      where t.queue_name = p_queue_name and t.message_id = any (p_ids) and t.message_id is not null)
    order by r.run_id for no key update skip locked
  ) l;
  v_tasks := (pgflow._judge_stalled((
    select array_agg(t) from pgflow._stalled_tasks(v_runs) t where t.queue_name = p_queue_name and t.message_id = any (p_ids)))).requeued;
  if v_tasks is null then
    return null;
  end if;
  perform pgflow._requeue_tasks(v_tasks);
  return array(select t.message_id from unnest(v_tasks) t);
end $$;

-- 50_recovery/_requeue_tasks.sql
-- Puts stalled tasks back into their queues, at once, with as many attempts forgiven as the caller says; each attempt is kept. The caller
-- holds their runs.
create function pgflow._requeue_tasks(p_tasks pgflow.step_tasks[])
returns integer
language plpgsql
as $$
declare
  v_requeued pgflow.step_tasks[];
begin
  with kept as (
    insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason, error_message)
    select t.run_id, t.step_slug, t.task_index, t.attempts_count, t.last_worker_id, t.started_at, greatest(pgflow.clock(), t.started_at),
           'stalled', 'The worker did not report before the recovery boundary'
    from unnest(p_tasks) t
    on conflict on constraint task_attempts_pkey do nothing
  ), changed as (
    update pgflow.step_tasks t set
      status = 'queued', requeued_count = t.requeued_count + 1, last_requeued_at = pgflow.clock(), attempts_forgiven = s.attempts_forgiven
    from unnest(p_tasks) s
    where t.run_id = s.run_id and t.step_slug = s.step_slug and t.task_index = s.task_index
      and t.status = 'started' and t.attempts_count = s.attempts_count
    returning t as task
  )
  select array_agg(c.task) into v_requeued from changed c;
  perform nextval('pgflow.counted_requeues') from unnest(v_requeued);
  perform count(*)
  from (select r.queue_name, array_agg(r.message_id) as ids from unnest(v_requeued) r group by r.queue_name order by r.queue_name) q
  cross join lateral pgflow.set_vt_batch(q.queue_name, q.ids, array_fill(0, array[cardinality(q.ids)]));
  return coalesce(cardinality(v_requeued), 0);
end $$;

-- 50_recovery/_send_due_tasks.sql
-- Sends the messages of parked tasks of a queue that are due by then, at most so many, and takes them from the parking place. Never waits,
-- since claims call it: runs are taken with skip locked, a busy one is left for the next call, and nobody changes a task without a
-- message but who holds its run. What is parked though its task is not queued or has a message (after changes by hand) goes unsent.
create function pgflow._send_due_tasks(p_queue_name text, p_until timestamptz, p_max integer)
returns integer
language plpgsql
as $$
declare
  v_runs uuid[];
  v_tasks pgflow.step_tasks[];
begin
  delete from pgflow.parked_tasks p
  where (p.run_id, p.step_slug, p.task_index) in (
    select e.run_id, e.step_slug, e.task_index from pgflow.parked_tasks e
    where e.queue_name = p_queue_name and e.due_at <= p_until
      and not exists (select from pgflow.step_tasks t where t.run_id = e.run_id and t.step_slug = e.step_slug and t.task_index = e.task_index
                        and t.status = 'queued' and t.message_id is null)
    order by e.due_at limit p_max for update skip locked);

  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.status not in ('completed', 'failed', 'cancelled') and r.run_id in (
      select p.run_id from pgflow.parked_tasks p where p.queue_name = p_queue_name and p.due_at <= p_until order by p.due_at limit p_max)
    order by r.run_id for no key update skip locked
  ) l;
  if v_runs is null then
    return 0;
  end if;
  -- A statement of its own: it sees what the former holders of these runs committed.
  with due as (
    delete from pgflow.parked_tasks p
    where (p.run_id, p.step_slug, p.task_index) in (
      select e.run_id, e.step_slug, e.task_index from unnest(v_runs) u(run_id) join pgflow.parked_tasks e on e.run_id = u.run_id
      where e.queue_name = p_queue_name and e.due_at <= p_until
      order by e.due_at limit p_max)
    returning p.run_id, p.step_slug, p.task_index
  )
  select array_agg(t) into v_tasks
  from due d join pgflow.step_tasks t on t.run_id = d.run_id and t.step_slug = d.step_slug and t.task_index = d.task_index
  where t.status = 'queued' and t.message_id is null;
  if v_tasks is null then
    return 0;
  end if;
  -- Else the message of one task could be refused for the ids of a queue that began anew, and hold up all the others.
  perform pgflow._advance_message_ids(p_queue_name);
  return pgflow._resend_messages(v_tasks);
end $$;

-- 50_recovery/_stalled_run_ids.sql
-- Runs that may hold a stalled task, found through the queues: a started task's message has been read and comes back
-- into sight after its timeout, so only messages that were read before and are visible, or were put off for 5 s by a claim
-- that met them, are looked at. (Looking through
-- the tasks of 100 000 active runs took ten times as long, and an index on started tasks costs every claim its HOT update.)
create function pgflow._stalled_run_ids()
returns uuid[]
language plpgsql
as $$
declare
  v_queue text;
  -- Once, since a volatile function is called again for each message and no index serves it.
  v_until timestamptz := clock_timestamp() + interval '5 seconds';
  v_ids bigint[];
  v_run_ids uuid[];
begin
  for v_queue in select distinct s.queue_name from pgflow._routes s order by s.queue_name loop
    begin
      -- A queue that is being dropped holds up the recovery of no other; its tasks go with it.
      execute format('lock table pgmq.%I in access share mode nowait', pgmq.format_table_name(v_queue, 'q'));
      execute format('select array_agg(q.msg_id) from pgmq.%I q where q.read_ct > 0 and q.vt <= $1',
                     pgmq.format_table_name(v_queue, 'q')) into v_ids using v_until;
    exception when undefined_table or lock_not_available then
      -- A queue dropped by hand holds nothing to recover; its worker says so at its next start.
      v_ids := null;
    end;
    v_run_ids := v_run_ids || (
      select array_agg(distinct t.run_id) from pgflow.step_tasks t
      join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
      join pgflow.flows f on f.flow_slug = t.flow_slug
      where t.queue_name = v_queue and t.message_id = any (v_ids) and t.message_id is not null and t.status = 'started'
        and coalesce(t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock(), true));
  end loop;
  return v_run_ids;
end $$;

-- 50_recovery/_stalled_tasks.sql
-- The started tasks of these runs' started steps that are past their recovery boundary: started_at + effective timeout + 30 s. The
-- claim hides a message for timeout + 2 s, so a worker that reports in time is never overtaken.
create function pgflow._stalled_tasks(p_run_ids uuid[])
returns setof pgflow.step_tasks
language plpgsql stable
as $$
begin
  return query
    select t.* from unnest(p_run_ids) u(run_id)
    join pgflow.step_tasks t on t.run_id = u.run_id
    join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
    join pgflow.flows f on f.flow_slug = t.flow_slug
    where t.status = 'started'
      and (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) = 'started'
      -- A start without a time, which no claim makes, is as old as can be.
      and coalesce(t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock(), true);
end $$;

-- 50_recovery/_unreachable_tasks.sql
-- Open tasks of started steps that no worker can come upon: their message is neither in their queue (or hidden for ever) nor parked, or their queue is
-- not that of their step. Looks at every open task once. Volatile, so that what follows a queue that is dropped meanwhile sees the
-- deletion that dropped it, and lists none of its tasks.
create function pgflow._unreachable_tasks()
returns setof pgflow.step_tasks
language plpgsql volatile
as $$
declare
  v_queue text;
begin
  for v_queue in select distinct s.queue_name from pgflow._routes s order by s.queue_name loop
    begin
      return query execute format(
        'select t.* from pgflow._open_tasks t
         where t.queue_name = $1 and not exists (select from pgmq.%I q where q.msg_id = t.message_id and q.vt < ''infinity'')
           and not exists (select from pgflow.parked_tasks p where p.run_id = t.run_id and p.step_slug = t.step_slug and p.task_index = t.task_index)
           and exists (select from pgflow._routes s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = $1)',
        pgmq.format_table_name(v_queue, 'q')) using v_queue;
    exception when undefined_table then
      -- Dropped by hand: none of its messages is left.
      return query select t.* from pgflow._open_tasks t
        where t.queue_name = v_queue
          and exists (select from pgflow._routes s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = v_queue);
    end;
  end loop;
  -- Whoever reads that queue, if anybody does, leaves what belongs to another step.
  return query select t.* from pgflow._open_tasks t
    where not exists (select from pgflow._routes s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = t.queue_name);
end $$;

-- 50_recovery/00_open_tasks.sql
-- Tasks that a worker has to do before their run can end: those of ended steps do not count, in whatever state somebody left them.
create view pgflow._open_tasks as
  select t.* from pgflow.runs r
  join pgflow.step_tasks t on t.run_id = r.run_id
  join pgflow.step_states x on x.run_id = t.run_id and x.step_slug = t.step_slug
  where r.status = 'started' and x.status = 'started' and t.status in ('queued', 'started');

-- 50_recovery/liveness_audit.sql
-- The promise "no open run without a next actor", as a question: empty when all is well. A next actor is a message in
-- its queue, a live claim within its recovery boundary, a due time, or an open wait. And whoever acts must find what it needs: the
-- definition of each open step, and counters that reach zero when what they count has ended.
create view pgflow.liveness_audit as
  select 'task' as kind, t.flow_slug, t.run_id, t.step_slug, t.task_index,
         case when s.step_slug is null then t.status || ', but the definition of its step is gone'
              when t.queue_name <> s.queue_name then format('%s in queue %s, but its step is served from queue %s', t.status, t.queue_name, s.queue_name)
              when t.status = 'queued' then 'queued, but its message is not in queue ' || t.queue_name
              else 'started and past its recovery boundary, but its message is not in queue ' || t.queue_name end as reason
  from pgflow._unreachable_tasks() t
  left join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
  left join pgflow.flows f on f.flow_slug = t.flow_slug
  where t.status = 'queued' or s.step_slug is null
     or coalesce(t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock(), true)
  union all
  select 'task', t.flow_slug, t.run_id, t.step_slug, t.task_index, 'waiting, but it is not among the open waits'
  from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id
  where r.status = 'started' and t.status = 'waiting' and not exists (
    select from pgflow.waits w where w.run_id = t.run_id and w.step_slug = t.step_slug and w.opened_at is not null)
  union all
  select 'step', x.flow_slug, x.run_id, x.step_slug, null, v.reason
  from pgflow.runs r
  join pgflow.step_states x on x.run_id = r.run_id
  left join pgflow.steps s on s.flow_slug = x.flow_slug and s.step_slug = x.step_slug
  cross join lateral (select case
    when x.status = 'failed' then 'failed, but its run goes on'
    when s.step_slug is null then x.status || ', but its definition is gone'
    when x.status = 'started' then (
      select case when count(*) = 0 then 'started, but it has no open task'
                  when count(*) <> coalesce(x.remaining_tasks, 0) then format('started, with %s tasks to come by its counter, but %s are open', coalesce(x.remaining_tasks, 0), count(*)) end
      from pgflow.step_tasks t where t.run_id = x.run_id and t.step_slug = x.step_slug and t.status in ('queued', 'started', 'waiting'))
    when s.step_type <> 'wait' and to_regclass('pgmq.q_' || s.queue_name) is null then 'to be started, but its queue ' || s.queue_name || ' is gone'
    else (
      select case when count(*) = 0 then 'its dependencies have ended, but it did not start'
                  when count(*) <> x.remaining_deps then format('waits for %s dependencies by its counter, but %s are open', x.remaining_deps, count(*)) end
      from pgflow.deps d join pgflow.step_states p on p.run_id = x.run_id and p.step_slug = d.dep_slug
      where d.flow_slug = x.flow_slug and d.step_slug = x.step_slug and p.status not in ('completed', 'skipped'))
    end as reason) v
  where r.status = 'started' and x.status in ('created', 'started', 'failed') and v.reason is not null
  union all
  select 'run', r.flow_slug, r.run_id, null, null,
         case when n.open_steps = 0 then 'started, but all of its steps have ended'
              else format('started, with %s steps to go by its counter, but %s have not ended', r.remaining_steps, n.open_steps) end
  from pgflow.runs r
  cross join lateral (
    select count(*) as open_steps from pgflow.step_states x where x.run_id = r.run_id and x.status not in ('completed', 'skipped')
  ) n
  where r.status = 'started' and (n.open_steps = 0 or n.open_steps <> r.remaining_steps);
comment on view pgflow.liveness_audit is 'Every open run, step or task that has no next actor, or would not be found by it, with the reason. Empty when all is well; repair_liveness() puts right what it can.';

-- 50_recovery/lost_attempts.sql
-- A worker asks once a second about what it has run for longer than that: a task may have ended without it, with its run or its step, or
-- be another worker's by now. Looks up primary keys and locks nothing; the hot call knows nothing of it.
create function pgflow.lost_attempts(worker_id uuid, tasks jsonb)
returns table (run_id uuid, step_slug text, task_index integer, attempt integer, reason text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select u.run_id, u.step_slug, u.task_index, u.attempt,
         case when t.run_id is null then 'its run was deleted'
              when t.status in ('cancelled', 'skipped') then case r.status
                when 'cancelled' then 'its run was cancelled' when 'failed' then 'its run failed' else 'its step was skipped' end
              else 'the task is not its own any more' end
  from jsonb_to_recordset(tasks) u(run_id uuid, step_slug text, task_index integer, attempt integer)
  left join pgflow.step_tasks t on t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
  left join pgflow.runs r on r.run_id = t.run_id
  where (t.status = 'started' and t.attempts_count = u.attempt and t.last_worker_id = lost_attempts.worker_id) is not true
$$;
comment on function pgflow.lost_attempts(uuid, jsonb) is
  'Of the attempts that a worker has under way, [{run_id, step_slug, task_index, attempt}], those that count no more, and why: their run was cancelled, failed or deleted, their step was skipped, or another worker has the task.';

-- 50_recovery/release_tasks.sql
-- Called by a worker that shuts down. Claimed but not started: given back and forgiven. Started and cut off by the
-- shutdown: given back at once, but the attempt counts, and the task ends when it was the last. Locks like a settlement.
create function pgflow.release_tasks(worker_id uuid, tasks jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_released pgflow.step_tasks[];
  v_cut_off jsonb;
  v_refused integer;
begin
  perform pgflow._check_reports(release_tasks.worker_id, tasks);
  -- An entry that names no attempt is held by nobody; the others are given back all the same.
  tasks := (select coalesce(jsonb_agg(t.value), '[]') from jsonb_array_elements(tasks) t where pgflow._names_attempt(t.value));

  perform from pgflow.runs r
  where r.run_id in (select u.run_id from jsonb_to_recordset(tasks) u(run_id uuid)) and r.status not in ('completed', 'failed', 'cancelled')
  order by r.run_id for no key update;

  with changed as (
    update pgflow.step_tasks t set status = 'queued', attempts_forgiven = t.attempts_forgiven + 1
    from jsonb_to_recordset(tasks) u(run_id uuid, step_slug text, task_index integer, attempt integer, started boolean)
    where not coalesce(u.started, false)
      and t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
      and t.status = 'started' and t.attempts_count = u.attempt and t.last_worker_id = release_tasks.worker_id
      and (select r.status from pgflow.runs r where r.run_id = t.run_id) = 'started'
      and (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) = 'started'
    returning t as task
  ), kept as (
    insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason)
    select (c.task).run_id, (c.task).step_slug, (c.task).task_index, (c.task).attempts_count, (c.task).last_worker_id,
           (c.task).started_at, greatest(pgflow.clock(), (c.task).started_at), 'released'
    from changed c
    on conflict on constraint task_attempts_pkey do nothing
  )
  select array_agg(c.task) into v_released from changed c;
  perform count(*)
  from (select r.queue_name, array_agg(r.message_id) as ids from unnest(v_released) r group by r.queue_name order by r.queue_name) q
  cross join lateral pgflow.set_vt_batch(q.queue_name, q.ids, array_fill(0, array[cardinality(q.ids)]));

  select coalesce(jsonb_agg(u.value || jsonb_build_object(
           'status', 'failed', 'error_message', 'The worker shut down before the handler ended', 'error', jsonb_build_object('name', 'WorkerShutdown'),
           'retry_delay', 0)), '[]')
  into v_cut_off
  from jsonb_array_elements(tasks) u where (u.value ->> 'started')::boolean;
  v_refused := coalesce(cardinality(pgflow._settle(release_tasks.worker_id, v_cut_off)), 0);

  return coalesce(cardinality(v_released), 0) + jsonb_array_length(v_cut_off) - v_refused;
end $$;
comment on function pgflow.release_tasks(uuid, jsonb) is
  'A worker gives tasks back: [{run_id, step_slug, task_index, attempt, started}]. Returns how many it still held.';

-- 50_recovery/repair_liveness.sql
-- Sends a lost message again, once however many call it at once: of queued tasks, when they are due, and of started ones past their
-- recovery boundary, which are recovered in the same call. What lies in a queue that does not serve its step is moved. Keeps deletions away first, since it looks at queues before it locks runs, and
-- a deletion locks runs before it drops queues; a flow that is being deleted already is left. Then takes the runs in id order, like
-- a settlement. In pieces, since it holds those runs until it ends.
create function pgflow.repair_liveness(run_ids uuid[] default null, max_tasks integer default 10000)
returns integer
language plpgsql
-- Planned at each call: a plan of an earlier one may have been made when the tables were all but empty.
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_flow_slugs text[] := array(
    select f.flow_slug from pgflow.flows f where pg_try_advisory_xact_lock_shared(pgflow._deletion_lock(f.flow_slug)));
  -- In the order of their names: whoever looks at many queues does so in that order.
  v_queues text[] := array(
    select distinct s.queue_name from pgflow._routes s
    where s.flow_slug = any (v_flow_slugs) and s.queue_name in (select lower(l.queue_name collate "C") from pgmq.list_queues() l)
      and to_regclass(format('pgmq.%I', pgmq.format_table_name(s.queue_name, 'q'))) is not null
    order by s.queue_name);
  v_runs uuid[];
  v_lost pgflow.step_tasks[];
  v_moved pgflow.step_tasks[];
  v_sent integer;
begin
  if not coalesce(max_tasks > 0, false) then
    perform pgflow._raise('SF001', 'max_tasks is how many messages one call sends at most.', format('It is %s.', coalesce(max_tasks::text, 'null')),
      'Give a number above zero, or leave it out: 10 000.');
  end if;
  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.run_id in (select t.run_id from pgflow._lost_tasks(v_queues, repair_liveness.run_ids, max_tasks) t)
      and r.status not in ('completed', 'failed', 'cancelled')
    order by r.run_id for no key update
  ) l;
  perform pgflow._advance_message_ids(q.queue_name) from unnest(v_queues) q(queue_name);
  -- Read again under the locks: somebody else may have repaired or settled them meanwhile.
  select array_agg(t) into v_lost from pgflow._lost_tasks(v_queues, v_runs, max_tasks) t where v_runs is not null;
  if v_lost is null then
    return 0;
  end if;
  -- What is still there of them is hidden for ever, or in a queue that does not serve their step.
  perform pgflow._archive_messages(array(
    select row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, null, null)::pgflow._ended_task
    from unnest(v_lost) t where t.queue_name = any (v_queues)));
  -- Those in a queue that does not serve their step go to the one that does; nothing is to be found of them in the former.
  v_moved := array(
    select t from unnest(v_lost) t join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug where t.queue_name <> s.queue_name);
  if cardinality(v_moved) > 0 then
    update pgflow.step_tasks t set queue_name = s.queue_name, message_id = null
    from unnest(v_moved) l join pgflow.steps s on s.flow_slug = l.flow_slug and s.step_slug = l.step_slug
    where t.run_id = l.run_id and t.step_slug = l.step_slug and t.task_index = l.task_index;
    v_lost := array(
      select t from unnest(v_lost) l
      join pgflow.step_tasks t on t.run_id = l.run_id and t.step_slug = l.step_slug and t.task_index = l.task_index);
  end if;
  delete from pgflow.parked_tasks p using unnest(v_lost) l
  where p.run_id = l.run_id and p.step_slug = l.step_slug and p.task_index = l.task_index;
  v_sent := pgflow._resend_messages(v_lost);
  -- The periodic recovery looks only at messages that were read before, which a new one was not.
  perform pgflow._recover_stalled_tasks(array(select distinct t.run_id from unnest(v_lost) t where t.status = 'started'));
  return v_sent;
end $$;
comment on function pgflow.repair_liveness(uuid[], integer) is 'Sends the messages again that liveness_audit misses or finds hidden for ever, each for the time when its task is due and to the queue that serves its step, and moves the ids of queues that count from 1 again beyond those that tasks know. At most max_tasks of them, of these runs or of all: returns how many were sent, and is to be called until that is 0. Steps and runs without a next actor are defects: report them.';

-- 50_recovery/requeue_stalled_tasks.sql
-- Called by cron and by workers that met a stalled task. Ends the waits that are due and sends the messages of parked tasks whose time comes, too. Takes runs in id order with skip locked (a busy run is alive,
-- and the next pass sees it), then their tasks, states and messages, like a settlement.
create function pgflow.requeue_stalled_tasks()
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  -- The next pass may be a while away: a message sent too early is hidden until its task is due.
  v_due_until timestamptz := pgflow.clock() + interval '1 minute';
  v_queue text;
  v_suspects uuid[] := pgflow._stalled_run_ids() || array(select w.run_id from pgflow.waits w where w.due_at <= pgflow.clock());
  v_runs uuid[];
  v_run_id uuid;
  v_count integer := 0;
  v_until timestamptz;
begin
  -- In the order of their names, as whoever looks at many queues does.
  for v_queue in
    select q.queue_name from (select distinct s.queue_name from pgflow._routes s) q
    where exists (select from pgflow.parked_tasks p where p.queue_name = q.queue_name and p.due_at <= v_due_until)
    order by q.queue_name
  loop
    begin
      perform pgflow._send_due_tasks(v_queue, v_due_until, 5000);
    exception when undefined_table then
      -- A queue dropped by hand; its tasks stay parked until it is made again.
      continue;
    when others then
      raise warning 'parked tasks of queue % cannot be sent: %', v_queue, sqlerrm;
    end;
  end loop;
  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.status not in ('completed', 'failed', 'cancelled') and r.run_id = any (v_suspects)
    order by r.run_id for no key update skip locked
  ) l;
  -- Watches that are over go too; one that is being prolonged right now is left.
  delete from pgflow.watched_runs w where w.run_id in (
    select o.run_id from pgflow.watched_runs o where o.watched_until < pgflow.clock() for update skip locked);
  if v_runs is null then
    return 0;
  end if;
  begin
    perform pgflow._expire_waits(v_runs);
    return pgflow._recover_stalled_tasks(v_runs);
  exception when others then
    -- One of them is damaged (a counter edited by hand, say): each by itself, so that it holds up no other.
  end;
  -- This holds their locks: for a few seconds, and the next pass goes on, with others first.
  v_until := clock_timestamp() + interval '5 seconds';
  for v_run_id in select u.run_id from unnest(v_runs) u(run_id) order by random() loop
    exit when clock_timestamp() > v_until;
    begin
      perform pgflow._expire_waits(array[v_run_id]);
      v_count := v_count + pgflow._recover_stalled_tasks(array[v_run_id]);
    exception when others then
      raise warning 'run % cannot be recovered: %', v_run_id, sqlerrm using hint = 'See: select * from pgflow.liveness_audit;';
    end;
  end loop;
  return v_count;
end $$;
comment on function pgflow.requeue_stalled_tasks() is
  'Puts tasks back whose worker did not report before started_at + effective timeout + 30 s; ends those without attempts or requeues left, and waits whose timeout has come, and sends the messages of parked tasks that are due within a minute. Returns how many were put back.';

-- 50_recovery/restore_queues.sql
-- pgmq's queues are in no dump: its tables belong to the extension. Makes those that routes name and that are not there. Takes the lock of
-- each flow first, in the order of slugs: pgmq below 1.5.2 takes none when it creates.
create function pgflow.restore_queues()
returns setof text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow record;
  v_queue text;
begin
  for v_flow in select f.flow_slug from pgflow.flows f order by lower(f.flow_slug collate "C") loop
    perform pgflow._lock_flow(v_flow.flow_slug);
    foreach v_queue in array pgflow._flow_queues(v_flow.flow_slug) loop
      if to_regclass(format('pgmq.%I', pgmq.format_table_name(v_queue, 'q'))) is null
        or to_regclass(format('pgmq.%I', pgmq.format_table_name(v_queue, 'a'))) is null
        or not exists (select from pgmq.list_queues() l where lower(l.queue_name collate "C") = v_queue) then
        perform pgflow._create_private_queue(v_queue);
        perform pgflow._advance_message_ids(v_queue);
        return next v_queue;
      end if;
    end loop;
  end loop;
end $$;
comment on function pgflow.restore_queues() is 'Makes the queues again that routes name and that are gone, after a restore or a drop by hand, with ids beyond those that tasks know; returns their names. Their messages come back with repair_liveness().';

-- 50_recovery/setup_requeue_stalled_tasks_cron.sql
create function pgflow.setup_requeue_stalled_tasks_cron(cron_interval text default '15 seconds')
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  perform cron.schedule('pgflow_requeue_stalled_tasks', setup_requeue_stalled_tasks_cron.cron_interval, 'select pgflow.requeue_stalled_tasks()');
  return format('scheduled pgflow_requeue_stalled_tasks every %s', setup_requeue_stalled_tasks_cron.cron_interval);
end $$;
comment on function pgflow.setup_requeue_stalled_tasks_cron(text) is 'Schedules stalled recovery on pg_cron.';

-- 60_worker/01_tables.sql
-- Half of each page stays free: neither a heartbeat nor a figure changes an indexed column, so each stays on its page.
create table pgflow.workers (
  worker_id uuid not null,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default now(),
  deprecated_at timestamptz,
  last_heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz,
  execution_id uuid,
  tasks_count integer,
  cpu_ms bigint,
  constraint workers_pkey primary key (worker_id),
  constraint workers_tasks_count_check check (tasks_count >= 0),
  constraint workers_cpu_ms_check check (cpu_ms >= 0)
) with (fillfactor = 50);
create index workers_function_name_started_at_idx on pgflow.workers (function_name, started_at);
-- A worker lives for minutes and its row stays for a week: what looks for living ones must not meet the dead.
create index workers_unstopped_function_idx on pgflow.workers (function_name, queue_name) where stopped_at is null;
create index workers_unstopped_queue_idx on pgflow.workers (queue_name) where stopped_at is null;
create index workers_execution_idx on pgflow.workers (coalesce(execution_id, worker_id));
comment on table pgflow.workers is 'One row per worker that has registered. Live: stopped_at is null and the heartbeat is fresh.';
comment on column pgflow.workers.execution_id is 'The isolate or process that it lives in, as whoever runs it calls it; several workers may live in one. Null: the worker''s own id, as in the released line.';
comment on column pgflow.workers.tasks_count is 'How many tasks it has ended, completed or failed, as of its last report; null where it does not tell.';
comment on column pgflow.workers.cpu_ms is 'CPU of the isolate or process that it lives in, all its workers together; null where nobody has measured it.';

alter table pgflow.step_tasks add constraint step_tasks_last_worker_id_fkey
  foreign key (last_worker_id) references pgflow.workers (worker_id) on delete set null;

create table pgflow.worker_functions (
  function_name text not null,
  enabled boolean not null default true,
  debounce interval not null default '6 seconds',
  last_invoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  start_mode text not null default 'http',
  disabled_reason text,
  last_error text,
  last_error_at timestamptz,
  failed_starts integer not null default 0,
  enabled_before_fence boolean,
  fenced_by text,
  fenced_at timestamptz,
  start_awaited_since timestamptz,
  start_request_id bigint,
  constraint worker_functions_pkey primary key (function_name),
  constraint worker_functions_debounce_check check (debounce >= '1 second'),
  constraint worker_functions_start_mode_check check (start_mode in ('http', 'process')),
  constraint fence_is_remembered_whole check (
    (enabled_before_fence is null) = (fenced_by is null) and (fenced_by is null) = (fenced_at is null))
);
comment on table pgflow.worker_functions is 'What hosts workers under one name. enabled is the fence: while false it is never pinged, and a worker that starts anyway claims nothing.';
comment on column pgflow.worker_functions.start_awaited_since is 'When the ping was sent that has to bring up a worker, since none lived; null when it is known how that went.';
comment on column pgflow.worker_functions.start_request_id is 'That ping in pg_net: its answer is looked at.';

-- Unlogged as the tables of pg_net are: a crash of the database, or a failover, empties all of them, and gives pg_net's ids anew,
-- to other requests. What is not here any longer has no answer. Without a foreign key: whoever pings waits for no row.
create unlogged table pgflow.awaited_pings (
  function_name text not null,
  request_id bigint not null,
  constraint awaited_pings_pkey primary key (function_name)
);
comment on table pgflow.awaited_pings is 'The ping of each function whose answer is looked at, for as long as pg_net remembers it.';

-- Beside worker_functions and not in it: it is written every few seconds, and a start must not wait for that.
create table pgflow.fence_holds (
  function_name text not null,
  hold_id uuid not null,
  held_by text not null,
  held_until timestamptz not null,
  constraint fence_holds_pkey primary key (function_name),
  constraint fence_holds_function_name_fkey
    foreign key (function_name) references pgflow.worker_functions (function_name) on delete cascade
);
comment on table pgflow.fence_holds is 'Fences of rollouts and deploys that are at work: until held_until nobody else takes or lifts them. Whoever is at work prolongs it.';

create table pgflow.worker_function_queues (
  function_name text not null,
  queue_name text not null,
  enabled boolean not null default true,
  disabled_reason text,
  served_at timestamptz not null default now(),
  constraint worker_function_queues_pkey primary key (function_name, queue_name),
  constraint worker_function_queues_function_name_fkey
    foreign key (function_name) references pgflow.worker_functions (function_name) on delete cascade
);
create index worker_function_queues_queue_name_idx on pgflow.worker_function_queues (queue_name);
comment on table pgflow.worker_function_queues is 'Which queues a worker function has registered workers for: one, or several for a grouped function.';

-- 60_worker/_beat_with_claim.sql
-- A claim is a sign of life too, so that an idle worker needs no calls for its heartbeat: written at most every 3 s (which
-- _worker_state has looked at), and never waited for, since a claim must not (see 40_run/README.md). Also where the last one lies in the
-- future: the clock was set back since.
create function pgflow._beat_with_claim(p_worker_id uuid)
returns void
language plpgsql
as $$
begin
  update pgflow.workers w set last_heartbeat_at = pgflow.clock()
  from (
    select due.worker_id from pgflow.workers due
    where due.worker_id = p_worker_id and due.last_heartbeat_at not between pgflow.clock() - interval '3 seconds' and pgflow.clock() + interval '3 seconds'
    for no key update skip locked
  ) due
  where w.worker_id = due.worker_id;
end $$;

-- 60_worker/_check_worker_functions.sql
create function pgflow._check_worker_functions(p_function_names text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_unknown text;
begin
  select string_agg(format('"%s"', n.name), ', ' order by n.name) into v_unknown
  from (select distinct unnest(p_function_names) as name) n
  where not exists (select from pgflow.worker_functions f where f.function_name = n.name);
  if v_unknown is not null or p_function_names is null then
    perform pgflow._raise('SF422', format('Worker function %s is not known here.', coalesce(v_unknown, 'null')),
      coalesce('Known: ' || (select string_agg(f.function_name, ', ' order by f.function_name) from pgflow.worker_functions f) || '.',
               'No worker function is known yet.'),
      'Check the spelling, or make it known with pgflow.track_worker_function. Nothing was changed.');
  end if;
end $$;

-- 60_worker/_ensure_workers_status.sql
create function pgflow._ensure_workers_status(
  out is_ready boolean, out functions_url text, out url_source text, out key_source text, out key_kind text,
  out missing text[], out hint text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_target record;
  v_hints text[] := '{}';
  v_is_scheduled boolean := false;
  v_secret text;
begin
  select * into v_target from pgflow._ping_target();
  functions_url := regexp_replace(v_target.base_url, '//[^/@]*@', '//');
  url_source := v_target.url_source;
  key_source := v_target.key_source;
  key_kind := case when v_target.auth_key is null then null
                   when v_target.auth_key like 'sb\_secret\_%' then 'secret key'
                   when v_target.auth_key ~ '^eyJ[^.]*\.[^.]*\.[^.]*$' then 'JWT'
                   else 'shared secret' end;
  missing := '{}';
  if v_target.base_url is null then
    missing := missing || 'address of the functions'::text;
    v_hints := v_hints || 'select vault.create_secret(''<project ref>'', ''supabase_project_id''), or, self-hosted, select pgflow.set_setting(''functions_base_url'', ''https://…/functions/v1'')'::text;
  end if;
  if v_target.auth_key is null and not v_target.is_released_local_mode then
    missing := missing || 'key'::text;
    v_hints := v_hints || 'select vault.create_secret(''<secret>'', ''pgflow_auth_secret'') and set the same value as the functions'' secret STARFLOW_AUTH_SECRET'::text;
  end if;
  foreach v_secret in array pgflow._undecryptable_secrets(array['pgflow_auth_secret', 'supabase_service_role_key', 'supabase_project_id']) loop
    missing := missing || format('Vault secret %s: it is there and cannot be decrypted', v_secret);
    v_hints := v_hints || format('select vault.update_secret((select id from vault.secrets where name = %L), ''<its value>'')', v_secret);
  end loop;
  if to_regprocedure('net.http_post(text, jsonb, jsonb, jsonb, integer)') is null then
    missing := missing || 'pg_net'::text;
    v_hints := v_hints || 'create extension pg_net'::text;
  end if;
  if to_regclass('cron.job') is null then
    missing := missing || 'pg_cron'::text;
    v_hints := v_hints || 'create extension pg_cron, then select pgflow.setup_ensure_workers_cron()'::text;
  else
    begin
      execute 'select exists (select from cron.job j where j.command like ''%pgflow.ensure_workers()%'' and j.active)' into v_is_scheduled;
    exception when insufficient_privilege then
      v_is_scheduled := true;
    end;
    if not v_is_scheduled then
      missing := missing || 'cron job'::text;
      v_hints := v_hints || 'select pgflow.setup_ensure_workers_cron()'::text;
    end if;
  end if;
  is_ready := missing = '{}';
  hint := case when is_ready then null else array_to_string(v_hints, '; ') end;
end $$;

-- 60_worker/_execution_usage.sql
-- What an isolate or process has used, and what for. Its CPU cannot be told apart by worker, so it is set against the tasks of all of
-- them, also of those that have stopped. No count where one of them does not tell its own.
create function pgflow._execution_usage(p_execution_id uuid, out worker_count integer, out tasks_count bigint, out cpu_ms bigint)
language sql stable
as $$
  select count(*)::integer, case when bool_and(w.tasks_count is not null) then sum(w.tasks_count) end, max(w.cpu_ms)
  from pgflow.workers w where coalesce(w.execution_id, w.worker_id) = p_execution_id
$$;

-- 60_worker/_failed_start.sql
-- What is known of the start that a function was pinged for: is_over when there is nothing left to wait for, and then, if it
-- failed, why and when. It goes well when a worker registers, or one that was thought dead is heard of again. It fails when the
-- ping is answered with anything but success, or when no worker has come in time although it was, or nobody knows how it was
-- answered: an answer is gone soon, and it says nothing of where a worker registers.
create function pgflow._failed_start(
  p_function pgflow.worker_functions, p_key text, out is_over boolean, out error_message text, out failed_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer record;
  v_said text;
begin
  is_over := p_function.start_awaited_since is null
    or pgflow._has_come_up(p_function.function_name, p_function.start_awaited_since);
  if is_over then
    return;
  end if;
  select * into v_answer from pgflow._ping_answer(p_function.function_name, p_function.start_request_id, p_function.start_awaited_since);
  v_said := coalesce(': ' || pgflow._readable_answer(v_answer.body, p_key), '');

  if v_answer.error_message is not null then
    error_message := 'The ping was not answered: ' || pgflow._readable_answer(v_answer.error_message, p_key);
    failed_at := v_answer.answered_at;
  elsif v_answer.status_code = 503 and v_answer.body ~ '"status"\s*:\s*"stopping"' then
    -- An isolate that takes nothing more: the next ping reaches a fresh one.
    is_over := true;
  elsif v_answer.status_code not between 200 and 299 then
    error_message := format('The ping was answered with status %s%s', v_answer.status_code, v_said);
    failed_at := v_answer.answered_at;
  elsif p_function.start_awaited_since < pgflow.clock() - interval '30 seconds' then
    error_message := 'No worker has registered here within 30 s of the ping, '
      || coalesce('which was answered with status ' || v_answer.status_code || v_said, 'and no answer to it is known');
    failed_at := pgflow.clock();
  end if;
  is_over := is_over or error_message is not null;
end $$;

-- 60_worker/_functions_to_ping.sql
-- Enabled http functions that are due, by name: their debounce has passed, their back-off too, and one of their queues
-- has no worker that lives and claims; also those in their back-off of which it is not known yet how their last start went.
-- is_down: none of its workers lives. The released local mode pings all of them.
-- "not in" because it is hashed: with 200 functions "not exists" on the same rows took ten times as long.
create function pgflow._functions_to_ping(p_all boolean)
returns table (worker_function pgflow.worker_functions, is_down boolean, is_backing_off boolean)
language plpgsql stable
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  return query
    with live as materialized (
      select w.function_name, w.queue_name
      from pgflow.workers w join pgflow.worker_functions f on f.function_name = w.function_name
      where w.stopped_at is null and w.deprecated_at is null
        and w.last_heartbeat_at between v_now - greatest(interval '12 seconds', f.debounce) and v_now + greatest(interval '12 seconds', f.debounce)
    ), queues_without_worker as (
      select q.function_name from pgflow.worker_function_queues q
      where q.enabled and (q.function_name, q.queue_name) not in (select l.function_name, l.queue_name from live l)
        -- A queue that the function has not served for a while is one that it does not host any longer.
        and (q.served_at > v_now - interval '10 minutes'
             or exists (select from pgflow.workers w where w.function_name = q.function_name and w.queue_name = q.queue_name
                        and w.stopped_at is null and w.last_heartbeat_at > v_now - interval '10 minutes'))
    )
    select f, f.function_name not in (select l.function_name from live l), b.is_backing_off
    from pgflow.worker_functions f
    cross join lateral (
      select f.failed_starts > 0 and coalesce(
        greatest(f.last_error_at, f.last_invoked_at) >= v_now - pgflow._start_back_off(f.debounce, f.failed_starts), false)
        and not pgflow._has_come_up(f.function_name, f.last_error_at) as is_backing_off) b
    where f.enabled and f.start_mode = 'http'
      and (p_all or (
        (f.function_name not in (select l.function_name from live l)
         or f.function_name in (select x.function_name from queues_without_worker x))
        and not exists (select from pgflow.worker_function_queues q where q.function_name = f.function_name
                        having count(*) > 0 and not bool_or(q.enabled))
        -- A worker that stopped by itself is replaced at once; the debounce is for pings that did not bring one up.
        -- A ping in the future is from before the clock was set back.
        and (f.last_invoked_at is null or f.last_invoked_at not between v_now - f.debounce and v_now + f.debounce
             or exists (select from pgflow.workers w where w.function_name = f.function_name
                        and w.started_at >= f.last_invoked_at and (w.stopped_at is not null or w.deprecated_at is not null)))
        and (not b.is_backing_off or f.start_awaited_since is not null)))
    order by f.function_name;
end $$;

-- 60_worker/_has_come_up.sql
-- Whether a worker of this function has registered since then, or one that was thought dead has been heard of again.
create function pgflow._has_come_up(p_function_name text, p_since timestamptz)
returns boolean
language sql stable
as $$
  select exists (
    select from pgflow.workers w where w.function_name = p_function_name
      and (w.started_at >= p_since or (w.last_heartbeat_at >= p_since and w.deprecated_at is null)))
$$;

-- 60_worker/_heartbeat_is_fresh.sql
-- Live: not stopped, and heard of within the longer of its function's debounce and 12 s (two heartbeats of 5 s and some). One that is further in
-- the future than that is from before the clock was set back.
create function pgflow._heartbeat_is_fresh(p_worker pgflow.workers)
returns boolean
language plpgsql stable
as $$
declare
  v_window interval := greatest(
    interval '12 seconds', (select f.debounce from pgflow.worker_functions f where f.function_name = p_worker.function_name));
begin
  return p_worker.stopped_at is null and p_worker.last_heartbeat_at between pgflow.clock() - v_window and pgflow.clock() + v_window;
end $$;

-- 60_worker/_lift_fence.sql
-- Their rows are locked by the caller.
create function pgflow._lift_fence(p_function_names text[])
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.worker_functions f set
    enabled = f.enabled_before_fence, updated_at = pgflow.clock(), failed_starts = 0, start_awaited_since = null, start_request_id = null,
    disabled_reason = case when f.enabled_before_fence then null else f.disabled_reason end,
    enabled_before_fence = null, fenced_by = null, fenced_at = null
  where f.function_name = any (p_function_names) and f.fenced_at is not null;
  return query select f.* from pgflow.worker_functions f where f.function_name = any (p_function_names) order by f.function_name;
end $$;

-- 60_worker/_ping_answer.sql
-- What pg_net has kept of the answer to a ping; all null where nothing came yet, it is pruned already, or nobody may see it; and
-- after a crash, when an answer under this id is one to another request.
-- A ping that ran into its timeout has no answer either: the start that it asked for goes on.
-- pg_net's table has an index on created only, and nothing there is older than the request.
create function pgflow._ping_answer(
  p_function_name text, p_request_id bigint, p_sent_at timestamptz, out status_code integer, out body text, out error_message text, out answered_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pgflow.awaited_pings p where p.function_name = p_function_name and p.request_id = p_request_id) then
    return;
  end if;
  execute 'select r.status_code, r.content, case when r.timed_out then null else r.error_msg end, r.created from net._http_response r
           where r.id = $1 and r.created >= $2 - interval ''1 minute'' order by r.created desc limit 1'
  into status_code, body, error_message, answered_at using p_request_id, p_sent_at;
exception
  when undefined_table or invalid_schema_name or undefined_column or insufficient_privilege then
    null;
end $$;

-- 60_worker/_ping_headers.sql
-- The new secret keys (sb_secret_…) are no JWTs: the gateway refuses one as a bearer and takes it as apikey. Everything
-- else goes both ways. Without a key (released local mode) there is none.
create function pgflow._ping_headers(p_key text)
returns jsonb
language sql immutable
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'Content-Type', 'application/json', 'apikey', p_key,
    'Authorization', case when p_key not like 'sb\_secret\_%' then 'Bearer ' || p_key end))
$$;

-- 60_worker/_ping_target.sql
-- Where and with which key worker functions are pinged, and where both come from; url null: not configured.
--   functions_base_url (self-hosted and our local platform), else the released local mode, else the project's id
create function pgflow._ping_target(
  out base_url text, out auth_key text, out is_released_local_mode boolean, out url_source text, out key_source text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_project text;
begin
  is_released_local_mode := false;
  base_url := pgflow.get_setting('functions_base_url');
  auth_key := pgflow._vault_secret('pgflow_auth_secret');
  key_source := case when auth_key is not null then 'Vault secret pgflow_auth_secret' end;
  if auth_key is null then
    auth_key := pgflow._vault_secret('supabase_service_role_key');
    key_source := case when auth_key is not null then 'Vault secret supabase_service_role_key' end;
  end if;
  if base_url is not null then
    url_source := 'setting functions_base_url';
  elsif pgflow.is_local() then
    is_released_local_mode := true;
    url_source := 'local Supabase CLI';
    base_url := 'http://kong:8000/functions/v1';
  else
    v_project := pgflow._vault_secret('supabase_project_id');
    url_source := case when v_project is not null then 'Vault secret supabase_project_id' end;
    base_url := 'https://' || v_project || '.supabase.co/functions/v1';
  end if;
end $$;

-- 60_worker/_queue_depth.sql
-- How many messages a queue holds, counted up to 1000, and how long the oldest has been there.
create function pgflow._queue_depth(p_queue_name text, out depth integer, out oldest_age interval)
language plpgsql stable
as $$
begin
  execute format(
    'select (select count(*) from (select from pgmq.%1$I limit 1000) x),
            (select clock_timestamp() - q.enqueued_at from pgmq.%1$I q order by q.msg_id limit 1)',
    pgmq.format_table_name(p_queue_name, 'q')) into depth, oldest_age;
exception when undefined_table then
  depth := null;
end $$;

-- 60_worker/_queue_functions.sql
-- Which function serves which queue: those that have registered, and those that a deployment has made known under the
-- name of a queue (or of one of its instances, <queue>-2) and that have not come up yet.
create view pgflow._queue_functions as
  select q.queue_name, q.function_name, q.enabled and f.enabled as enabled,
         coalesce('fenced by ' || f.fenced_by, f.disabled_reason, q.disabled_reason, case when not f.enabled then 'disabled' end) as fence
  from pgflow.worker_function_queues q
  join pgflow.worker_functions f on f.function_name = q.function_name
  union all
  select regexp_replace(f.function_name, '-[0-9]+$', ''), f.function_name, f.enabled,
         coalesce('fenced by ' || f.fenced_by, f.disabled_reason, case when not f.enabled then 'disabled' end)
  from pgflow.worker_functions f
  where not exists (select from pgflow.worker_function_queues q where q.function_name = f.function_name);

-- 60_worker/_queue_measures.sql
-- One pass over the oldest 10 000 messages of a queue: how many there are, how many a worker has taken and not settled (hidden by a
-- read, and not by a delay: of a task, it is started), and how long the oldest has been there. And how many messages were ever sent and
-- archived, which Postgres counts by itself: rows inserted into the two tables of the queue. Null: the queue is gone.
create function pgflow._queue_measures(
  p_queue_name text, out depth integer, out in_flight integer, out oldest_age interval, out sent_count bigint, out archived_count bigint)
returns record
language plpgsql stable
as $$
begin
  execute format(
    'select count(*), count(*) filter (where q.vt > clock_timestamp() and q.read_ct > 0 and coalesce((
              select t.status from pgflow.step_tasks t where t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null
            ), ''started'') = ''started''),
            clock_timestamp() - min(q.enqueued_at)
     from (select m.msg_id, m.vt, m.read_ct, m.enqueued_at from pgmq.%I m order by m.msg_id limit 10000) q',
    pgmq.format_table_name(p_queue_name, 'q')) into depth, in_flight, oldest_age using p_queue_name;
  sent_count := pg_stat_get_tuples_inserted(to_regclass(format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'q'))));
  archived_count := pg_stat_get_tuples_inserted(to_regclass(format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'a'))));
exception when undefined_table then
  depth := null;
end $$;

-- 60_worker/_queue_troubles.sql
-- What is wrong in a queue, as far as cheap looks tell. waiting_age: how long the message that is visible for longest could have been
-- taken. Stalled: of the ten thousand oldest messages those that were read before and are visible again, and whose task was started and is
-- past its recovery boundary. Unsupported: of the thousand oldest messages, those that none of its workers takes, since no task of its steps has them; null of a queue without a flow.
create function pgflow._queue_troubles(
  p_queue_name text, p_has_routes boolean, out waiting_age interval, out stalled integer, out unsupported integer)
returns record
language plpgsql stable
as $$
begin
  execute format(
    'select (select $3 - m.vt from pgmq.%1$I m where m.vt <= $3 order by m.vt limit 1),
            (select count(*)
             from (select m.msg_id, m.vt, m.read_ct from pgmq.%1$I m order by m.msg_id limit 10000) q
             join pgflow.step_tasks t on t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null
             join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
             join pgflow.flows f on f.flow_slug = t.flow_slug
             where q.vt <= $3 and q.read_ct > 0 and t.status = ''started''
               and t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock()),
            (select count(*) from (select m.msg_id from pgmq.%1$I m order by m.msg_id limit 1000) q
             where $2 and not exists (
               select from pgflow.step_tasks t join pgflow._routes s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
               where t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null and s.queue_name = $1))',
    pgmq.format_table_name(p_queue_name, 'q')) into waiting_age, stalled, unsupported using p_queue_name, p_has_routes, clock_timestamp();
  if not p_has_routes then
    unsupported := null;
  end if;
exception when undefined_table then
  waiting_age := null;
end $$;

-- 60_worker/_queue_was_served.sql
-- Remembers that a worker served its queue until now: ensure_workers waits for a queue's next worker for a while, and not
-- for ever for one that the function does not host any longer.
create function pgflow._queue_was_served(p_worker_id uuid)
returns void
language plpgsql
as $$
begin
  update pgflow.worker_function_queues q set served_at = pgflow.clock()
  from pgflow.workers w
  where w.worker_id = p_worker_id and q.function_name = w.function_name and q.queue_name = w.queue_name
    and q.served_at < pgflow.clock() - interval '1 minute';
end $$;

-- 60_worker/_readable_answer.sql
-- The start of an answer's body in one line, for people to read. Whoever answers may repeat what it was sent: neither our key
-- nor anything that looks like one is kept, nor the password of an address.
create function pgflow._readable_answer(p_body text, p_key text)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- Cut first: a body may be long, and a cut key must be found too.
  v_text text := left(p_body, 2000 + coalesce(length(p_key), 0));
begin
  if length(p_key) > 0 then
    v_text := replace(v_text, p_key, '[secret]');
  end if;
  v_text := regexp_replace(v_text, 'eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_.-]*|sb_secret_[A-Za-z0-9_-]*', '[secret]', 'g');
  v_text := regexp_replace(v_text, '://[^\s"'']*@', '://[secret]@', 'g');
  v_text := btrim(regexp_replace(v_text, '\s+', ' ', 'g'));
  return case when length(v_text) > 300 then left(v_text, 299) || '…' else nullif(v_text, '') end;
end $$;

-- 60_worker/_refuse_held_fence.sql
-- Locks the holds of these functions, so that none is prolonged after it was found to be over, and refuses where one of them
-- is another's and is not over. Their functions' rows are locked before, by the caller.
create function pgflow._refuse_held_fence(p_function_names text[], p_message text, p_hint text, p_own uuid default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held record;
begin
  perform from pgflow.fence_holds h where h.function_name = any (p_function_names) order by h.function_name for update;
  select string_agg(distinct h.held_by, '", "') as holders, string_agg(h.function_name, ', ' order by h.function_name) as names,
         ceil(extract(epoch from max(h.held_until) - pgflow.clock())) as seconds
  into v_held
  from pgflow.fence_holds h
  where h.function_name = any (p_function_names) and h.held_until > pgflow.clock() and h.hold_id is distinct from p_own;
  if v_held.names is not null then
    perform pgflow._raise('SF632', format(p_message, v_held.holders),
      format('It is at work on %s. Nothing was changed.', v_held.names), format(p_hint, v_held.seconds));
  end if;
end $$;

-- 60_worker/_start_back_off.sql
-- How far apart the pings of a function are whose last starts failed: 6 s, 12 s, … 5 min, with a debounce of 6 s.
create function pgflow._start_back_off(p_debounce interval, p_failed_starts integer)
returns interval
language sql immutable
as $$
  select case when p_failed_starts > 0 then least(interval '5 minutes', p_debounce * power(2, least(p_failed_starts, 10) - 1))
              else interval '0' end
$$;

-- 60_worker/_undecryptable_secrets.sql
-- Which of these secrets are in the Vault and cannot be decrypted: it was restored without its key, or the ciphertext was changed.
create function pgflow._undecryptable_secrets(p_names text[])
returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
  v_found text[] := '{}';
begin
  if to_regclass('vault.decrypted_secrets') is null then
    return v_found;
  end if;
  foreach v_name in array p_names loop
    begin
      execute 'select count(s.decrypted_secret) from vault.decrypted_secrets s where s.name = $1' using v_name;
    exception
      when insufficient_privilege then
        return '{}';
      when others then
        v_found := v_found || v_name;
    end;
  end loop;
  return v_found;
end $$;

-- 60_worker/_unsupported_messages.sql
-- Messages of a queue that none of its workers takes: no task has them, or that of a step which this queue does not serve.
create function pgflow._unsupported_messages(p_queue_name text)
returns table (msg_id bigint, read_ct integer, enqueued_at timestamptz, vt timestamptz, flow_slug text, run_id uuid, step_slug text, task_index integer)
language plpgsql stable
as $$
begin
  return query execute format(
    'select q.msg_id, q.read_ct::integer, q.enqueued_at, q.vt, t.flow_slug, t.run_id, t.step_slug, t.task_index
     from pgmq.%I q
     left join pgflow.step_tasks t on t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null
     where not exists (select from pgflow._routes s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = $1)
     order by q.msg_id',
    pgmq.format_table_name(p_queue_name, 'q')) using p_queue_name;
exception when undefined_table then
  return;
end $$;

-- 60_worker/_vault_secret.sql
-- A secret by name; null where it is missing, blank, unreadable or where there is no Vault: one that cannot be decrypted, after a restore say,
-- must not stop what does without it (_undecryptable_secrets tells). White space around it, which a paste easily brings, is no part
-- of it: in a header it would be refused.
create function pgflow._vault_secret(p_name text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_secret text;
begin
  if to_regclass('vault.decrypted_secrets') is null then
    return null;
  end if;
  execute 'select s.decrypted_secret from vault.decrypted_secrets s where s.name = $1' into v_secret using p_name;
  return nullif(btrim(v_secret, E' \t\r\n'), '');
exception when others then
  return null;
end $$;

-- 60_worker/_worker_state.sql
-- Whether a worker may go on claiming: running, deprecated (told to stop, or stopped), fenced (its function, or its queue
-- of a grouped function, is disabled), or unknown (no row); and whether its heartbeat is old enough to be written by a claim.
-- A set of one row, so that it becomes part of the statement that asks.
create function pgflow._worker_state(p_worker_id uuid)
returns table (state text, is_beat_due boolean)
language sql stable
as $$
  select case when w.worker_id is null then 'unknown'
              when w.deprecated_at is not null or w.stopped_at is not null then 'deprecated'
              when (select f.enabled from pgflow.worker_functions f where f.function_name = w.function_name) is false then 'fenced'
              when (select q.enabled from pgflow.worker_function_queues q
                    where q.function_name = w.function_name and q.queue_name = w.queue_name) is false then 'fenced'
              else 'running' end,
         w.last_heartbeat_at not between pgflow.clock() - interval '3 seconds' and pgflow.clock() + interval '3 seconds'
  from (values (p_worker_id)) asked(worker_id) left join pgflow.workers w on w.worker_id = asked.worker_id
$$;

-- 60_worker/cleanup_ensure_workers_logs.sql
-- Removes only the history of Starflow's own jobs.
create function pgflow.cleanup_ensure_workers_logs(retention_hours integer default 24)
returns table (cron_deleted bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  return query
    with deleted as (
      delete from cron.job_run_details d
      using cron.job j
      where j.jobid = d.jobid and j.jobname in (
        'pgflow_ensure_workers', 'pgflow_cleanup_logs', 'pgflow_requeue_stalled_tasks', 'pgflow_prune_data', 'starflow_sample_queues')
        and d.end_time < now() - make_interval(hours => cleanup_ensure_workers_logs.retention_hours)
      returning 1
    )
    select count(*) from deleted;
end $$;
comment on function pgflow.cleanup_ensure_workers_logs(integer) is 'Deletes finished runs of Starflow''s cron jobs that are older than the given hours.';

-- 60_worker/deprecate_worker.sql
create function pgflow.deprecate_worker(worker_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w set deprecated_at = coalesce(w.deprecated_at, pgflow.clock()) where w.worker_id = deprecate_worker.worker_id;
  perform pgflow._queue_was_served(deprecate_worker.worker_id);
end $$;
comment on function pgflow.deprecate_worker(uuid) is 'A worker past half of its life: claims no more, finishes what it has, and lets a new one be started.';

-- 60_worker/deprecate_workers.sql
create function pgflow.deprecate_workers(function_names text[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count integer;
begin
  update pgflow.workers w set deprecated_at = pgflow.clock()
  from (
    select x.worker_id from pgflow.workers x
    where x.function_name = any (deprecate_workers.function_names) and x.stopped_at is null and x.deprecated_at is null
    order by x.worker_id for no key update
  ) told
  where w.worker_id = told.worker_id;
  get diagnostics v_count = row_count;
  return v_count;
end $$;
comment on function pgflow.deprecate_workers(text[]) is
  'Tells every worker of these functions to claim no more, finish what it has started, and stop. Returns how many were told.';

-- 60_worker/drained.sql
-- A worker that was killed says nothing: it is counted until its heartbeat is stale, and its tasks come back by recovery.
create function pgflow.drained(function_names text[])
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return not exists (
    select from pgflow.workers w
    where w.function_name = any (drained.function_names) and w.stopped_at is null and pgflow._heartbeat_is_fresh(w));
end $$;
comment on function pgflow.drained(text[]) is 'Whether no worker of these functions is alive any longer, the ones that are still finishing included.';

-- 60_worker/enable_worker_functions.sql
-- For a function that was disabled by hand or by the strict policy (onUnsupportedMessage: halt). Under a fence the memory
-- changes, so that the fence holds until it is lifted.
create function pgflow.enable_worker_functions(function_names text[])
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_worker_functions(enable_worker_functions.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (enable_worker_functions.function_names)
  order by f.function_name for no key update;
  update pgflow.worker_functions f set
    enabled = f.fenced_at is null, enabled_before_fence = case when f.fenced_at is not null then true end,
    disabled_reason = null, failed_starts = 0, start_awaited_since = null, start_request_id = null, updated_at = pgflow.clock()
  where f.function_name = any (enable_worker_functions.function_names);
  update pgflow.worker_function_queues q set enabled = true, disabled_reason = null
  where q.function_name = any (enable_worker_functions.function_names) and not q.enabled;
  return query select f.* from pgflow.worker_functions f
    where f.function_name = any (enable_worker_functions.function_names) order by f.function_name;
end $$;
comment on function pgflow.enable_worker_functions(text[]) is 'Enables worker functions that were disabled by hand or by the halt policy. A fence stays until it is lifted.';

-- 60_worker/end_fence_hold.sql
-- What was taken or lifted meanwhile is no longer this hold's to lift.
create function pgflow.end_fence_hold(hold_id uuid)
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names text[];
begin
  perform from pgflow.worker_functions f
  where f.function_name in (select h.function_name from pgflow.fence_holds h where h.hold_id = end_fence_hold.hold_id)
  order by f.function_name for no key update;
  with ended as (delete from pgflow.fence_holds h where h.hold_id = end_fence_hold.hold_id returning h.function_name)
  select array_agg(e.function_name) into v_names from ended e;
  return query select f.* from pgflow._lift_fence(v_names) f;
end $$;
comment on function pgflow.end_fence_hold(uuid) is 'Lifts the fence that hold_fence raised: enabled is again what it was before. Returns the rows; none where it is not held any longer.';

-- 60_worker/ensure_workers.sql
-- Every second from cron. Waits for nobody and makes nobody wait: a function is taken by an advisory lock, never by its
-- row, so that ten calls at once ping once and yet a worker can register while a ping hangs; what is learnt is written at
-- the end, leaving out rows that somebody holds. Only a ping that pg_net took counts as an invocation; one that it
-- refuses blocks nobody else. Secrets are read only when somebody is due.
-- Before a function without any worker is pinged again, the answer to the ping before is looked at: it may be the only one
-- who knows why none came.
create function pgflow.ensure_workers()
returns table (function_name text, invoked boolean, request_id bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
-- pg_net's queue may be locked; then nobody can be pinged, and the next tick tries again.
set lock_timeout = '1s'
as $$
declare
  v_released_local_mode boolean := pgflow.get_setting('functions_base_url') is null and pgflow.is_local();
  v_target record;
  v_due record;
  v_function pgflow.worker_functions;
  v_is_over boolean;
  v_start_error text;
  v_failed_at timestamptz;
  v_has_to_wait boolean;
  v_is_locked boolean := false;
  v_ping_error text;
  v_learnt jsonb := '[]';
begin
  for v_due in select d.* from pgflow._functions_to_ping(v_released_local_mode) d loop
    v_function := v_due.worker_function;
    if v_target is null then
      select * into v_target from pgflow._ping_target();
      exit when v_target.base_url is null or (v_target.auth_key is null and not v_released_local_mode);
    end if;
    continue when not pg_catalog.pg_try_advisory_xact_lock(
      pg_catalog.hashtext('pgflow.ensure_workers'), pg_catalog.hashtext(v_function.function_name));
    -- Whoever held the lock a moment ago may have pinged it, or counted its failed start.
    continue when not exists (
      select from pgflow.worker_functions f where f.function_name = v_function.function_name and f.enabled
        and (f.last_invoked_at, f.start_request_id, f.failed_starts)
            is not distinct from (v_function.last_invoked_at, v_function.start_request_id, v_function.failed_starts));

    function_name := v_function.function_name;
    request_id := null;
    v_ping_error := null;
    v_start_error := null;
    v_is_over := false;
    if v_due.is_down then
      begin
        select s.is_over, s.error_message, s.failed_at into v_is_over, v_start_error, v_failed_at
        from pgflow._failed_start(v_function, v_target.auth_key) s;
      exception when lock_not_available then
        v_is_locked := true;
      end;
      exit when v_is_locked;
    end if;
    v_has_to_wait := not v_released_local_mode and (v_due.is_backing_off or (v_start_error is not null
      and greatest(v_failed_at, v_function.last_invoked_at)
          >= pgflow.clock() - pgflow._start_back_off(v_function.debounce, v_function.failed_starts + 1)));
    -- Also that there is nothing left to wait for is written down: else it would be found again each second.
    continue when v_has_to_wait and not v_is_over;

    if not v_has_to_wait then
      begin
        request_id := net.http_post(
          url => v_target.base_url || '/' || v_function.function_name, body => '{}'::jsonb,
          headers => pgflow._ping_headers(v_target.auth_key), timeout_milliseconds => 10000);
      exception when others then
        v_is_locked := sqlstate = '55P03';
        v_ping_error := left('ping: ' || sqlerrm, 2000);
      end;
      if v_due.is_down and v_is_over and request_id is not null then
        insert into pgflow.awaited_pings as p (function_name, request_id) values (v_function.function_name, ensure_workers.request_id)
        on conflict on constraint awaited_pings_pkey do update set request_id = excluded.request_id;
      end if;
      invoked := request_id is not null;
      return next;
    end if;
    v_learnt := v_learnt || jsonb_build_object(
      'function_name', function_name, 'request_id', request_id, 'ping_error', v_ping_error,
      'start_error', v_start_error, 'failed_at', v_failed_at, 'failed_starts', v_function.failed_starts,
      'awaited_request_id', v_function.start_request_id,
      'has_to_start', v_due.is_down, 'is_awaited_already', v_due.is_down and not v_is_over);
    exit when v_is_locked;
  end loop;

  update pgflow.worker_functions f set
    last_invoked_at = case when l.request_id is not null then pgflow.clock() else f.last_invoked_at end,
    failed_starts = f.failed_starts + (l.new_error is not null)::integer,
    last_error = coalesce(l.ping_error, l.new_error, f.last_error),
    last_error_at = case when l.ping_error is not null then pgflow.clock() when l.new_error is not null then l.failed_at else f.last_error_at end,
    start_awaited_since = case when l.is_awaited_already then f.start_awaited_since
                               when l.has_to_start and l.request_id is not null then pgflow.clock() end,
    start_request_id = case when l.is_awaited_already then f.start_request_id when l.has_to_start then l.request_id end
  from (select x.*,
               -- Unless a worker has registered, or has told its failure itself, since that was looked at.
               case when (w.failed_starts, w.start_request_id) is not distinct from (x.failed_starts, x.awaited_request_id)
                      and not pgflow._has_come_up(w.function_name, w.start_awaited_since)
                    then x.start_error end as new_error
        from jsonb_to_recordset(v_learnt) as x(
          function_name text, request_id bigint, ping_error text, start_error text, failed_at timestamptz,
          failed_starts integer, awaited_request_id bigint, has_to_start boolean, is_awaited_already boolean)
        join pgflow.worker_functions w on w.function_name = x.function_name
        order by x.function_name for no key update of w skip locked) l
  where f.function_name = l.function_name;
end $$;
comment on function pgflow.ensure_workers() is
  'Pings every enabled http worker function that has no live worker, and counts a ping that brought none as a failed start. One row per function that was pinged.';

-- 60_worker/ensure_workers_status.sql
create view pgflow.ensure_workers_status as select * from pgflow._ensure_workers_status();
comment on view pgflow.ensure_workers_status is
  'One row: where ensure_workers sends its pings and with which kind of key (never the key), what is missing for it, and how to mend that.';

-- 60_worker/fence_worker_functions.sql
-- All or none, rows locked in the order of their names. The value found in enabled is remembered once: fencing again, by
-- the same name, keeps the first memory, so that whoever was killed half-way can begin anew.
create function pgflow.fence_worker_functions(function_names text[], fenced_by text)
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_foreign record;
begin
  if coalesce(btrim(fence_worker_functions.fenced_by), '') = '' then
    perform pgflow._raise('SF001', 'A fence needs a name.', 'fenced_by is empty.', 'Say who fences, for example ''deploy of orders by ana''.');
  end if;
  perform pgflow._check_worker_functions(fence_worker_functions.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (fence_worker_functions.function_names)
  order by f.function_name for no key update;

  select min(f.fenced_by) as fenced_by, min(f.fenced_at) as fenced_at, string_agg(f.function_name, ', ' order by f.function_name) as names
  into v_foreign
  from pgflow.worker_functions f
  where f.function_name = any (fence_worker_functions.function_names) and f.fenced_by <> fence_worker_functions.fenced_by;
  if v_foreign.names is not null then
    perform pgflow._raise('SF421', format('"%s" cannot fence what "%s" has fenced.', fence_worker_functions.fenced_by, v_foreign.fenced_by),
      format('Worker functions %s, since %s. Nothing was changed.', v_foreign.names, to_char(v_foreign.fenced_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')),
      'Wait until it is done. If it will never be, run it again to its end, or restore those functions.');
  end if;

  update pgflow.worker_functions f set
    enabled = false, updated_at = pgflow.clock(), fenced_by = fence_worker_functions.fenced_by,
    enabled_before_fence = coalesce(f.enabled_before_fence, f.enabled), fenced_at = coalesce(f.fenced_at, pgflow.clock())
  where f.function_name = any (fence_worker_functions.function_names);
  return query select f.* from pgflow.worker_functions f
    where f.function_name = any (fence_worker_functions.function_names) order by f.function_name;
end $$;
comment on function pgflow.fence_worker_functions(text[], text) is
  'Disables worker functions and remembers what enabled was (once). Refuses, by name, functions that somebody else has fenced. Returns the rows.';

-- 60_worker/flow_data_summary.sql
-- What delete_flow_and_data would delete. Takes the flow's lock, so that within one transaction what was counted is not
-- compiled anew before it is deleted.
create function pgflow.flow_data_summary(flow_slug text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow pgflow.flows;
  v_queues text[];
  v_queue text;
  v_counts record;
  v_queue_counts jsonb := '[]';
begin
  perform pgflow._lock_flow(flow_data_summary.flow_slug);
  select * into v_flow from pgflow.flows f where f.flow_slug = flow_data_summary.flow_slug;
  if v_flow.flow_slug is null then
    perform pgflow._raise_unknown_flow(flow_data_summary.flow_slug);
  end if;

  v_queues := pgflow._flow_queues(v_flow.flow_slug);
  foreach v_queue in array v_queues loop
    begin
      execute format('select (select count(*) from pgmq.%I) as messages, (select count(*) from pgmq.%I) as archived',
                     pgmq.format_table_name(v_queue, 'q'), pgmq.format_table_name(v_queue, 'a')) into v_counts;
      v_queue_counts := v_queue_counts || jsonb_build_object(
        'queueName', v_queue, 'messages', v_counts.messages, 'archived', v_counts.archived);
    exception when undefined_table then
      v_queue_counts := v_queue_counts || jsonb_build_object('queueName', v_queue, 'messages', null, 'archived', null);
    end;
  end loop;

  return jsonb_build_object(
    'flowSlug', v_flow.flow_slug,
    'queueMode', v_flow.queue_mode,
    'runs', (select coalesce(jsonb_object_agg(r.status, r.runs), '{}') from (
               select x.status, count(*) as runs from pgflow.runs x where x.flow_slug = v_flow.flow_slug group by x.status) r),
    'tasks', (select count(*) from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id where r.flow_slug = v_flow.flow_slug),
    'queues', v_queue_counts,
    'liveWorkers', (select coalesce(jsonb_agg(jsonb_build_object(
                             'workerId', w.worker_id, 'functionName', w.function_name, 'queueName', w.queue_name)
                             order by w.function_name, w.worker_id), '[]')
                    from pgflow.workers w where lower(w.queue_name collate "C") = any (v_queues) and pgflow._heartbeat_is_fresh(w)));
end $$;
comment on function pgflow.flow_data_summary(text) is
  'What delete_flow_and_data would delete: {flowSlug, queueMode, runs: {status: count}, tasks, queues: [{queueName, messages, archived}] (null: the queue is gone), liveWorkers: [{workerId, functionName, queueName}]}.';

-- 60_worker/flow_worker_functions.sql
create function pgflow.flow_worker_functions(flow_slug text)
returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select distinct x.function_name from pgflow._queue_functions x
    where x.queue_name in (select s.queue_name from pgflow._routes s where s.flow_slug = flow_worker_functions.flow_slug)
       -- A grouped function bears the name of its flow.
       or (x.queue_name = lower(flow_worker_functions.flow_slug collate "C")
           and exists (select from pgflow.flows f where f.flow_slug = flow_worker_functions.flow_slug))
    order by 1;
end $$;
comment on function pgflow.flow_worker_functions(text) is
  'The complete set of worker functions of a flow: all that have registered for one of its queues, and those known under a queue''s name.';

-- 60_worker/hold_fence.sql
-- The fence of somebody who is at work: a rollout, a deploy. It is raised like any other, and remembers as any other, but until
-- held_until nobody else takes or lifts it. The database's clock decides. Who holds it prolongs it (keep_fence_hold) and has to
-- be done, with what it has started, before it is over: a hold that was not prolonged is another's to take.
create function pgflow.hold_fence(function_names text[], fenced_by text, held_by text, hold_id uuid, hold_for interval)
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_worker_functions(hold_fence.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (hold_fence.function_names)
  order by f.function_name for no key update;
  perform pgflow._refuse_held_fence(hold_fence.function_names, format('"%s" overlaps with "%%s".', replace(hold_fence.held_by, '%', '%%')),
    'Wait until it is done, then run this again. One that was killed is over by itself within %s s.', hold_fence.hold_id);
  return query select f.* from pgflow.fence_worker_functions(hold_fence.function_names, hold_fence.fenced_by) f;
  insert into pgflow.fence_holds as h (function_name, hold_id, held_by, held_until)
  select distinct n.name, hold_fence.hold_id, hold_fence.held_by, pgflow.clock() + hold_fence.hold_for
  from unnest(hold_fence.function_names) as n(name)
  on conflict on constraint fence_holds_pkey do update set
    hold_id = excluded.hold_id, held_by = excluded.held_by, held_until = excluded.held_until;
end $$;
comment on function pgflow.hold_fence(text[], text, text, uuid, interval) is
  'Fences worker functions for a rollout or deploy that is at work, which nobody else takes or lifts for so long. Refuses, by name, another one that is. Returns the rows.';

-- 60_worker/keep_fence_hold.sql
-- Also after it was over, as long as nobody has taken or lifted the fence meanwhile.
create function pgflow.keep_fence_hold(hold_id uuid, hold_for interval)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kept integer;
begin
  perform from pgflow.fence_holds h where h.hold_id = keep_fence_hold.hold_id order by h.function_name for update;
  update pgflow.fence_holds h set held_until = pgflow.clock() + keep_fence_hold.hold_for where h.hold_id = keep_fence_hold.hold_id;
  get diagnostics v_kept = row_count;
  return v_kept;
end $$;
comment on function pgflow.keep_fence_hold(uuid, interval) is
  'Prolongs what hold_fence gave. Returns for how many functions: for those that are missing somebody else has taken or lifted the fence.';

-- 60_worker/mark_worker_stopped.sql
create function pgflow.mark_worker_stopped(worker_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w set stopped_at = coalesce(w.stopped_at, pgflow.clock()) where w.worker_id = mark_worker_stopped.worker_id;
  perform pgflow._queue_was_served(mark_worker_stopped.worker_id);
end $$;
comment on function pgflow.mark_worker_stopped(uuid) is 'The last thing a worker says: its function may be pinged for a new one at once.';

-- 60_worker/prune_workers.sql
-- Hourly. A killed worker never says that it stopped; after an hour of silence its row is closed, so that searches for
-- living ones stay short. Rows of a week ago are deleted, only those that no task names and whose isolate or process has ended too: while it
-- goes on, their tasks belong to its CPU. Each deletion makes the foreign
-- key of step_tasks look for such a task without an index (one there would double the cost of every claim), so this
-- stops after 5 s and goes on in an hour.
create function pgflow.prune_workers()
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_until timestamptz := clock_timestamp() + interval '5 seconds';
  v_count integer := 0;
  v_worker_id uuid;
begin
  update pgflow.workers w set stopped_at = pgflow.clock()
  where w.stopped_at is null and w.last_heartbeat_at < pgflow.clock() - interval '1 hour'
    and exists (select from pgflow.worker_functions f where f.function_name = w.function_name and f.start_mode = 'http');
  for v_worker_id in
    select w.worker_id from pgflow.workers w
    where w.last_heartbeat_at < pgflow.clock() - interval '7 days'
      and not exists (select from pgflow.step_tasks t where t.last_worker_id = w.worker_id)
      and not exists (
        select from pgflow.workers o where coalesce(o.execution_id, o.worker_id) = coalesce(w.execution_id, w.worker_id)
          and o.last_heartbeat_at >= pgflow.clock() - interval '7 days')
    order by w.last_heartbeat_at
    for update skip locked
  loop
    exit when clock_timestamp() > v_until;
    delete from pgflow.workers w where w.worker_id = v_worker_id;
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
comment on function pgflow.prune_workers() is 'Deletes workers that were last heard of a week ago, as all of their isolate or process, and that no task names, and closes those silent for an hour. Returns how many were deleted.';

-- 60_worker/queue_coverage.sql
-- Every persisted route beside the workers that serve it. Each queue is measured once, however many steps share it, and
-- counted up to 1000: a full count of a long queue at every look would cost more than it tells.
create view pgflow.queue_coverage as
  with queues as materialized (
    select q.queue_name, d.depth, d.oldest_age
    -- In the order in which a deletion drops them: else each could wait for a queue that the other has. Materialized, so that
    -- no join comes in between.
    from (select distinct s.queue_name from pgflow._routes s order by s.queue_name) q
    left join lateral pgflow._queue_depth(q.queue_name) d on true
  ), live as (
    -- A released worker writes the slug of its flow, in its own case, as the name of its queue.
    select lower(w.queue_name collate "C") as queue_name, count(*)::integer as live_workers
    from pgflow.workers w
    where w.stopped_at is null and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)
    group by 1
  ), functions as (
    select x.queue_name, array_agg(x.function_name order by x.function_name) as function_names,
           not bool_or(x.enabled) as fenced, string_agg(distinct x.fence, '; ') as fence
    from pgflow._queue_functions x
    group by x.queue_name
  )
  select s.flow_slug, s.step_slug, s.step_index, s.queue_name, q.depth, q.oldest_age,
         coalesce(l.live_workers, 0) as live_workers, f.function_names, coalesce(f.fenced, false) as fenced, f.fence
  from pgflow._routes s
  join queues q on q.queue_name = s.queue_name
  left join live l on l.queue_name = s.queue_name
  left join functions f on f.queue_name = s.queue_name;
comment on view pgflow.queue_coverage is
  'Every route with its queue''s depth (counted up to 1000; null: the queue is gone), the age of its oldest message, its live workers, its functions, and whether all of these are disabled.';

-- 60_worker/register_worker.sql
-- After the compile, never before. Registering never touches the fence. A second registration under one id (a runtime
-- that restarts an isolate with its execution id) takes the row over.
create function pgflow.register_worker(worker_id uuid, queue_name text, function_name text, start_mode text default 'http', execution_id uuid default null)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow.track_worker_function(register_worker.function_name, register_worker.start_mode);
  update pgflow.worker_functions f set failed_starts = 0, last_error = null, last_error_at = null
  where f.function_name = register_worker.function_name and f.failed_starts > 0;
  insert into pgflow.worker_function_queues as q (function_name, queue_name, served_at)
  values (register_worker.function_name, register_worker.queue_name, pgflow.clock())
  on conflict on constraint worker_function_queues_pkey do update set served_at = excluded.served_at;
  insert into pgflow.workers as w (worker_id, queue_name, function_name, started_at, last_heartbeat_at, execution_id, tasks_count)
  values (register_worker.worker_id, register_worker.queue_name, register_worker.function_name, pgflow.clock(), pgflow.clock(),
          register_worker.execution_id, 0)
  on conflict on constraint workers_pkey do update set
    queue_name = excluded.queue_name, function_name = excluded.function_name, started_at = excluded.started_at,
    last_heartbeat_at = excluded.last_heartbeat_at, deprecated_at = null, stopped_at = null,
    execution_id = excluded.execution_id, tasks_count = 0, cpu_ms = null;
  return (select w.state from pgflow._worker_state(register_worker.worker_id) w);
end $$;
comment on function pgflow.register_worker(uuid, text, text, text, uuid) is 'Makes a worker known and answers its state: running, or fenced while its function is disabled. execution_id is what the host calls the isolate or process that it lives in.';

-- 60_worker/report_cpu.sql
-- For whoever measures from outside, since an edge function cannot measure itself. They know isolates and not workers, so it goes by
-- the execution id (SB_EXECUTION_ID inside the isolate, execution_id in the platform's logs). No worker ever waits for this: a row
-- that somebody holds gets its figure with the next report, and one whose figure would not grow is not written.
create function pgflow.report_cpu(cpu_ms jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
  v_count integer;
begin
  if jsonb_typeof(report_cpu.cpu_ms) is distinct from 'object' then
    perform pgflow._raise('SF303', 'The CPU of isolates must be one JSON object.', format('Got %s.', coalesce(jsonb_typeof(report_cpu.cpu_ms), 'null')),
      'Send milliseconds by execution id: {"<execution id>": 812}.');
  end if;
  select format('%s: %s', to_json(e.key), left(e.value::text, 100)) into v_wrong from jsonb_each(report_cpu.cpu_ms) e
  where case when e.key !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' or jsonb_typeof(e.value) <> 'number' then true
             else e.value::numeric not between 0 and 1e15 end
  order by e.key limit 1;
  if v_wrong is not null then
    perform pgflow._raise('SF303', 'The CPU of an isolate must be milliseconds, 0 or more, under its execution id.', format('Got %s.', v_wrong),
      'Send milliseconds by execution id: {"<execution id>": 812}.');
  end if;
  with measured as (
    select e.key::uuid as execution_id, round(e.value::numeric)::bigint as cpu_ms from jsonb_each(report_cpu.cpu_ms) e
  ), grown as (
    select w.worker_id, m.cpu_ms from measured m
    join pgflow.workers w on coalesce(w.execution_id, w.worker_id) = m.execution_id
    where w.cpu_ms is null or w.cpu_ms < m.cpu_ms
    for no key update of w skip locked
  )
  update pgflow.workers w set cpu_ms = g.cpu_ms from grown g where w.worker_id = g.worker_id;
  get diagnostics v_count = row_count;
  return v_count;
end $$;
comment on function pgflow.report_cpu(jsonb) is
  'Whoever measures isolates from outside tells their CPU since boot, in milliseconds by execution id. Returns for how many workers the figure has grown: it never becomes smaller, and ids without a worker are passed over.';

-- 60_worker/report_start_failure.sql
-- A start that failed (a mismatch, say) inserts nothing: an existing row keeps the error and is pinged less and less. Whoever
-- waited for that start need not look at the answer of its ping, which would count it twice.
create function pgflow.report_start_failure(function_name text, error_message text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.worker_functions f set
    last_error = left(report_start_failure.error_message, 2000), last_error_at = pgflow.clock(), failed_starts = f.failed_starts + 1,
    start_awaited_since = null, start_request_id = null
  where f.function_name = report_start_failure.function_name;
end $$;
comment on function pgflow.report_start_failure(text, text) is 'Keeps the reason why a worker could not start; pings then back off up to 5 min.';

-- 60_worker/report_usage.sql
-- Once a second, while there is something new; the hot call knows nothing of it. A figure never becomes smaller: reports of one
-- worker may overtake each other.
create function pgflow.report_usage(worker_id uuid, tasks_count integer, cpu_ms bigint default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w set
    tasks_count = greatest(w.tasks_count, report_usage.tasks_count), cpu_ms = greatest(w.cpu_ms, report_usage.cpu_ms)
  where w.worker_id = report_usage.worker_id;
end $$;
comment on function pgflow.report_usage(uuid, integer, bigint) is
  'A worker tells how many tasks it has ended since it registered, and, where it can measure that, the CPU of its process since the start.';

-- 60_worker/restore_worker_functions.sql
-- Puts back what the fence remembered and forgets it. What was deployed meanwhile is tried at once: failed starts of the
-- code before do not count. A function that is not fenced stays as it is. The fence of a rollout or deploy that is at work is not
-- lifted from outside, unless by force: it would let old and new code run beside each other.
create function pgflow.restore_worker_functions(function_names text[], force boolean default false)
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_worker_functions(restore_worker_functions.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (restore_worker_functions.function_names)
  order by f.function_name for no key update;
  if restore_worker_functions.force is not true then
    perform pgflow._refuse_held_fence(restore_worker_functions.function_names, 'The fence cannot be lifted while "%s" is at work.',
      'Wait until it is done. If it was killed, it is over by itself within %s s. By force (npx starflow restore NAME --force, force => true)'
      || ' it is told to stop within 5 s, and what it deploys may come all the same.');
  end if;
  delete from pgflow.fence_holds h where h.function_name = any (restore_worker_functions.function_names);
  return query select f.* from pgflow._lift_fence(restore_worker_functions.function_names) f;
end $$;
comment on function pgflow.restore_worker_functions(text[], boolean) is
  'Lifts the fence: enabled is again what it was before. Refuses, by name, that of a rollout or deploy that is at work, unless by force. Returns the rows. Twice is fine.';

-- 60_worker/setup_ensure_workers_cron.sql
create function pgflow.setup_ensure_workers_cron(cron_interval text default '1 second')
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  perform cron.schedule('pgflow_ensure_workers', setup_ensure_workers_cron.cron_interval, 'select pgflow.ensure_workers()');
  perform cron.schedule('pgflow_cleanup_logs', '0 * * * *', 'select pgflow.cleanup_ensure_workers_logs(); select pgflow.prune_workers()');
  return format('scheduled pgflow_ensure_workers every %s and pgflow_cleanup_logs hourly', setup_ensure_workers_cron.cron_interval);
end $$;
comment on function pgflow.setup_ensure_workers_cron(text) is 'Schedules ensure_workers and the clean-up of its history on pg_cron.';

-- 60_worker/track_worker_function.sql
create function pgflow.track_worker_function(function_name text, start_mode text default 'http')
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(btrim(track_worker_function.function_name), '') = '' then
    perform pgflow._raise('SF001', 'A worker function needs a name.', 'function_name is empty.',
      'Give the name under which it is deployed: the first segment of its path.');
  end if;
  -- Most calls change nothing, and then lock nothing: a start must not wait behind whoever holds the function's row.
  if exists (select from pgflow.worker_functions f where f.function_name = track_worker_function.function_name
             and f.start_mode = track_worker_function.start_mode) then
    return;
  end if;
  insert into pgflow.worker_functions as f (function_name, start_mode)
  values (track_worker_function.function_name, track_worker_function.start_mode)
  on conflict on constraint worker_functions_pkey do update set start_mode = excluded.start_mode, updated_at = now()
  where f.start_mode <> excluded.start_mode;
end $$;
comment on function pgflow.track_worker_function(text, text) is 'Makes a worker function known, so that ensure_workers starts it (http) or leaves it alone (process). Never touches its fence.';

-- 60_worker/unsupported_messages.sql
create view pgflow.unsupported_messages as
  select q.queue_name, m.msg_id as message_id, m.read_ct as read_count, m.enqueued_at, m.vt as visible_at,
         m.flow_slug, m.run_id, m.step_slug, m.task_index
  -- In the order in which a deletion drops them: else each could wait for a queue that the other has.
  from (select distinct s.queue_name from pgflow._routes s order by s.queue_name) q
  cross join lateral pgflow._unsupported_messages(q.queue_name) m;
comment on view pgflow.unsupported_messages is 'Messages in Starflow''s queues that no worker takes, without their bodies: those that no task knows, sent by hand or left by something else, and those whose task (flow_slug, run_id, step_slug, task_index) is of a step that another queue serves. The latter are in liveness_audit too, and repair_liveness() moves them.';

-- 60_worker/version_drain.sql
create view pgflow.version_drain as
  select f.flow_slug, f.queue_mode, f.compiled_at,
         (select count(*) from pgflow.runs r where r.flow_slug = f.flow_slug and r.status = 'started') as open_runs,
         (select min(r.started_at) from pgflow.runs r where r.flow_slug = f.flow_slug and r.status = 'started') as oldest_open_run_at,
         (select count(*) from pgflow.workers w
          where lower(w.queue_name collate "C") in (select s.queue_name from pgflow._routes s where s.flow_slug = f.flow_slug)
            and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)) as live_workers,
         (select count(*) from pgflow.open_waits w where w.flow_slug = f.flow_slug) as open_waits
  from pgflow.flows f;
comment on view pgflow.version_drain is 'What is left of each concrete flow: open runs, the workers that serve them, and the waits that only a resume or their timeout ends.';

-- 60_worker/worker_heartbeat.sql
create function pgflow.worker_heartbeat(worker_id uuid)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w set last_heartbeat_at = pgflow.clock() where w.worker_id = worker_heartbeat.worker_id;
  return (select w.state from pgflow._worker_state(worker_heartbeat.worker_id) w);
end $$;
comment on function pgflow.worker_heartbeat(uuid) is 'Every 5 s from each worker. Answers whether to go on: running, deprecated, fenced or unknown.';

-- 70_engine/01_tables.sql
create schema if not exists starflow;
comment on schema starflow is 'Whole runs that are executed by runners. Written through its functions only.';

create table starflow.workflow_definitions (
  id uuid not null default pgflow.new_run_id(),
  flow_slug text not null,
  shape_hash text not null,
  shape jsonb not null,
  created_at timestamptz not null default now(),
  constraint workflow_definitions_pkey primary key (id),
  constraint workflow_definitions_flow_slug_shape_hash_key unique (flow_slug, shape_hash),
  constraint workflow_definitions_flow_slug_is_a_slug check (pgflow.is_valid_slug(flow_slug)),
  constraint workflow_definitions_shape_is_an_object check (jsonb_typeof(shape) = 'object')
);
comment on table starflow.workflow_definitions is 'What runs are tied to: one row per flow slug and shape. A runner claims runs of the definitions that its code has.';
comment on column starflow.workflow_definitions.shape_hash is 'SHA-256 of the structure, in hex: what runners compare.';
comment on column starflow.workflow_definitions.shape is 'Steps, order, types, dependencies, conditions and skip modes.';

-- A heartbeat changes lease_until, which has an index, so it is no HOT update: the free part of a page keeps it near.
create table starflow.workflow_runs (
  id uuid not null default pgflow.new_run_id(),
  template_id text,
  workspace_id text not null default 'celestial',
  env text not null default 'prod',
  status text not null default 'running',
  input jsonb not null default 'null',
  output jsonb,
  error text,
  checkpoint_json jsonb,
  paused_nodes text[],
  phase text,
  definition_id uuid,
  idempotency_key text,
  claim_state text not null default 'running',
  claim_state_at timestamptz not null default now(),
  runner_pool text,
  leased_by text,
  lease_until timestamptz,
  last_heartbeat timestamptz,
  claim_attempts integer not null default 0,
  created_at timestamptz not null default now(),
  queued_at timestamptz,
  available_at timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  cancelled_at timestamptz,
  duration_ms integer,
  traceparent text,
  constraint workflow_runs_pkey primary key (id),
  constraint workflow_runs_definition_id_fkey foreign key (definition_id) references starflow.workflow_definitions (id),
  constraint workflow_runs_status_is_known check (status in ('queued', 'running', 'paused', 'success', 'error', 'cancelled')),
  constraint workflow_runs_claim_state_is_known check (
    claim_state in ('queued', 'claimed', 'running', 'paused', 'complete', 'failed', 'abandoned')),
  -- Which claim states a status goes with: the table of README.md.
  constraint workflow_runs_claim_state_fits_status check (case status
    when 'queued' then claim_state in ('queued', 'claimed')
    when 'running' then claim_state = 'running'
    when 'paused' then claim_state in ('queued', 'claimed', 'running', 'paused')
    when 'error' then claim_state in ('failed', 'abandoned')
    else claim_state = 'complete' end),
  constraint workflow_runs_lease_is_whole check ((leased_by is null) = (lease_until is null)),
  constraint workflow_runs_nobody_holds_what_waits check (leased_by is null or claim_state not in ('queued', 'paused')),
  constraint workflow_runs_claimed_is_held check (claim_state <> 'claimed' or leased_by is not null),
  constraint workflow_runs_queued_since_when check (claim_state <> 'queued' or (queued_at is not null and available_at is not null)),
  constraint workflow_runs_paused_nodes_only_while_paused check ((status = 'paused') = (paused_nodes is not null)),
  constraint workflow_runs_checkpoint_only_while_paused check (checkpoint_json is null or status = 'paused'),
  constraint workflow_runs_output_only_of_success check (output is null or status = 'success'),
  constraint workflow_runs_error_only_of_error check ((status = 'error') = (error is not null)),
  constraint workflow_runs_cancelled_at_matches_status check ((status = 'cancelled') = (cancelled_at is not null)),
  constraint workflow_runs_completed_at_matches_status check ((status in ('success', 'error')) = (completed_at is not null)),
  constraint workflow_runs_claim_attempts_check check (claim_attempts >= 0),
  constraint workflow_runs_duration_ms_check check (duration_ms >= 0)
) with (fillfactor = 70);
-- The claim: the oldest queued runs of a pool. Only queued runs are in it, however many have ended.
create index idx_workflow_runs_claim_pool on starflow.workflow_runs (claim_state, runner_pool, queued_at) where claim_state = 'queued';
-- The sweep: leases that are over, and what is executed without any.
create index idx_workflow_runs_lease_until on starflow.workflow_runs (lease_until) where lease_until is not null;
create index idx_workflow_runs_leaseless on starflow.workflow_runs (claim_state_at) where lease_until is null and claim_state = 'running';
-- Lists of runs: by start for dashboards, by creation (which queued runs have too) for pages.
create index idx_workflow_runs_workspace_started on starflow.workflow_runs (workspace_id, env, started_at desc);
create index idx_workflow_runs_workspace_created on starflow.workflow_runs (workspace_id, created_at desc, id desc);
create index idx_workflow_runs_created on starflow.workflow_runs (created_at desc, id desc);
-- Runs that failed are few, and looked for among all the others.
create index idx_workflow_runs_unsuccessful on starflow.workflow_runs (created_at desc, id desc) where status in ('error', 'cancelled');
create index idx_workflow_runs_failed on starflow.workflow_runs (completed_at) where status = 'error';
create index idx_workflow_runs_open on starflow.workflow_runs (created_at desc, id desc) where status in ('queued', 'running', 'paused');
create index idx_workflow_runs_definition on starflow.workflow_runs (definition_id);
create unique index idx_workflow_runs_idempotency_key on starflow.workflow_runs (workspace_id, env, idempotency_key)
  where idempotency_key is not null;
comment on table starflow.workflow_runs is 'One row per run. status is for whoever watches it, claim_state for runners; (leased_by, claim_attempts) is the fencing token of all that a runner writes.';
comment on column starflow.workflow_runs.template_id is 'The flow slug.';
comment on column starflow.workflow_runs.workspace_id is 'Whose run it is.';
comment on column starflow.workflow_runs.checkpoint_json is 'What is kept of the run while it is paused. Its resume and its end clear it.';
comment on column starflow.workflow_runs.paused_nodes is 'The nodes that a paused run waits for, as its runner said when it paused.';
comment on column starflow.workflow_runs.phase is 'The last phase that was recorded.';
comment on column starflow.workflow_runs.idempotency_key is 'The same key again in this workspace and env gives this run.';
comment on column starflow.workflow_runs.claim_state_at is 'Since when claim_state is what it is.';
comment on column starflow.workflow_runs.runner_pool is 'Only runners of this pool claim it; null: any runner.';
comment on column starflow.workflow_runs.leased_by is 'The runner that holds the run.';
comment on column starflow.workflow_runs.lease_until is 'When the lease is over unless it is refreshed. The sweep takes the run away then, nothing else does.';
comment on column starflow.workflow_runs.last_heartbeat is 'When the lease was refreshed last. For people.';
comment on column starflow.workflow_runs.claim_attempts is 'Grows with every claim and never shrinks.';
comment on column starflow.workflow_runs.queued_at is 'When it was queued last: claims go by it.';
comment on column starflow.workflow_runs.available_at is 'Not claimed before this.';
comment on column starflow.workflow_runs.traceparent is 'The span that started it (W3C Trace Context); null without tracing.';
comment on column starflow.workflow_runs.started_at is 'When a runner executed it first.';
comment on column starflow.workflow_runs.completed_at is 'When it succeeded or failed.';

-- A run in a list: without what may be long.
create type starflow.listed_run as (
  id uuid, template_id text, workspace_id text, env text, status text, claim_state text, error text, definition_id uuid, runner_pool text,
  leased_by text, lease_until timestamptz, last_heartbeat timestamptz, claim_attempts integer, created_at timestamptz, queued_at timestamptz,
  available_at timestamptz, started_at timestamptz, completed_at timestamptz, cancelled_at timestamptz, duration_ms integer, is_found boolean
);

create table starflow.workflow_run_events (
  id bigserial not null,
  run_id uuid not null,
  event_type text not null,
  node_id text,
  payload_json jsonb,
  created_at timestamptz not null default now(),
  constraint workflow_run_events_pkey primary key (id),
  constraint workflow_run_events_run_id_fkey foreign key (run_id) references starflow.workflow_runs (id) on delete cascade,
  constraint workflow_run_events_event_type_is_known check (event_type in (
    'node_start', 'node_complete', 'node_error', 'node_retry', 'node_skip', 'run_started', 'run_paused', 'run_resumed',
    'run_completed', 'run_failed', 'run_cancelled', 'run_retried', 'run_released', 'phase', 'variable', 'runner_lost')),
  constraint workflow_run_events_node_id_matches_type check ((node_id is not null) = (event_type like 'node\_%'))
);
create index idx_workflow_run_events_run on starflow.workflow_run_events (run_id, id);
create index idx_workflow_run_events_node on starflow.workflow_run_events (run_id, node_id, id) where node_id is not null;
create index idx_workflow_run_events_variable on starflow.workflow_run_events (run_id, (payload_json ->> 'key'), id) where event_type = 'variable';
create index idx_workflow_run_events_lost on starflow.workflow_run_events (created_at) where event_type = 'runner_lost';
create unique index idx_workflow_run_events_one_output on starflow.workflow_run_events (run_id, node_id) where event_type = 'node_complete';
comment on table starflow.workflow_run_events is 'What happened to runs, append-only. What a run has come to is read from its events in the order of their ids, which within a run is the order in which they became visible.';
comment on column starflow.workflow_run_events.node_id is 'The step slug, or slug[3] for an element of a map.';
comment on column starflow.workflow_run_events.payload_json is 'Inputs, outputs, errors and what else the type has.';

create table starflow.workflow_waits (
  run_id uuid not null,
  node_id text not null,
  status text not null,
  payload_json jsonb,
  opened_at timestamptz,
  due_at timestamptz,
  ended_at timestamptz,
  created_at timestamptz not null default now(),
  constraint workflow_waits_pkey primary key (run_id, node_id),
  constraint workflow_waits_run_id_fkey foreign key (run_id) references starflow.workflow_runs (id) on delete cascade,
  constraint workflow_waits_status_is_known check (status in ('early', 'open', 'resumed', 'timed_out')),
  constraint workflow_waits_payload_matches_status check ((status in ('early', 'resumed')) = (payload_json is not null)),
  constraint workflow_waits_opened_at_matches_status check ((status = 'early') = (opened_at is null)),
  constraint workflow_waits_ended_at_matches_status check ((status in ('resumed', 'timed_out')) = (ended_at is not null))
);
create index idx_workflow_waits_due on starflow.workflow_waits (due_at) where status = 'open' and due_at is not null;
create index idx_workflow_waits_open on starflow.workflow_waits (opened_at) where status = 'open';
comment on table starflow.workflow_waits is 'Durable waits: a payload is stored once per wait, may arrive before the wait opens, and comes too late by the clock of the database.';
comment on column starflow.workflow_waits.status is 'early: resumed before it was opened. resumed and timed_out are ends.';
comment on column starflow.workflow_waits.due_at is 'When it times out; null: never.';

create table starflow.workflow_session_vars (
  session_id text not null,
  key text not null,
  value_json jsonb not null,
  run_id uuid,
  keep_until timestamptz,
  updated_at timestamptz not null default now(),
  constraint workflow_session_vars_pkey primary key (session_id, key),
  constraint workflow_session_vars_run_id_fkey foreign key (run_id) references starflow.workflow_runs (id) on delete set null
);
create index idx_workflow_session_vars_run on starflow.workflow_session_vars (run_id);
create index idx_workflow_session_vars_keep_until on starflow.workflow_session_vars (keep_until) where keep_until is not null;
comment on table starflow.workflow_session_vars is 'Values that steps share, within a run or across runs.';
comment on column starflow.workflow_session_vars.run_id is 'The run that wrote it last: with its end the variable goes, unless keep_until is set.';
comment on column starflow.workflow_session_vars.keep_until is 'Until when it outlives its run.';

create table starflow.workflow_runners (
  runner_id text not null,
  runner_pool text,
  capacity integer not null,
  definition_ids uuid[] not null default '{}',
  live_until timestamptz not null,
  is_accepting boolean not null default true,
  refused_flows jsonb not null default '{}',
  workspace_id text,
  last_heartbeat timestamptz not null,
  started_at timestamptz not null default now(),
  constraint workflow_runners_pkey primary key (runner_id),
  constraint workflow_runners_capacity_check check (capacity >= 0)
);
comment on table starflow.workflow_runners is 'Runners as they announce themselves with each heartbeat. Nothing is decided by it: it tells which queued runs nobody serves, and why.';
comment on column starflow.workflow_runners.definition_ids is 'The definitions that its code has.';
comment on column starflow.workflow_runners.is_accepting is 'False while it drains, or its claims are not answered: it serves no further run.';
comment on column starflow.workflow_runners.refused_flows is 'Flows of its code that it cannot execute, by slug, and why.';
comment on column starflow.workflow_runners.workspace_id is 'The workspace under which it reports (MESH_WORKSPACE); null: it said none.';
comment on column starflow.workflow_runners.live_until is 'Until when it counts as live without another heartbeat.';

create table starflow.worker_jobs (
  id uuid not null default pgflow.new_run_id(),
  run_id uuid not null,
  node_id text not null,
  kind text not null,
  payload jsonb not null default 'null',
  status text not null default 'queued',
  leased_by text,
  lease_until timestamptz,
  attempt integer not null default 0,
  idempotency_key text,
  result jsonb,
  error text,
  is_permanent boolean not null default false,
  lost_leases integer not null default 0,
  created_at timestamptz not null default now(),
  completed_at timestamptz,
  constraint worker_jobs_pkey primary key (id),
  constraint worker_jobs_run_id_fkey foreign key (run_id) references starflow.workflow_runs (id) on delete cascade,
  constraint worker_jobs_run_id_idempotency_key_key unique (run_id, idempotency_key),
  constraint worker_jobs_status_is_known check (status in ('queued', 'leased', 'completed', 'failed', 'cancelled')),
  constraint worker_jobs_lease_matches_status check (
    (status = 'leased') = (leased_by is not null) and (leased_by is null) = (lease_until is null)),
  constraint worker_jobs_result_only_of_completed check (result is null or status = 'completed'),
  constraint worker_jobs_error_only_of_failed check (error is null or status in ('queued', 'leased', 'failed')),
  constraint worker_jobs_completed_at_matches_status check ((status in ('completed', 'failed', 'cancelled')) = (completed_at is not null)),
  constraint worker_jobs_attempt_check check (attempt >= 0)
);
create index idx_worker_jobs_queued on starflow.worker_jobs (kind, created_at) where status = 'queued';
create index idx_worker_jobs_lease_until on starflow.worker_jobs (lease_until) where lease_until is not null;
comment on table starflow.worker_jobs is 'Steps that an external worker serves, in any language.';
comment on column starflow.worker_jobs.kind is 'What a worker asks for.';
comment on column starflow.worker_jobs.attempt is 'Grows with every lease: with leased_by the fencing token of the worker''s report.';
comment on column starflow.worker_jobs.idempotency_key is 'The same key again within the run gives the same job.';
comment on column starflow.worker_jobs.error is 'Of the last attempt that failed.';
comment on column starflow.worker_jobs.is_permanent is 'The worker said that no further attempt can help.';
comment on column starflow.worker_jobs.lost_leases is 'How many workers have taken it and were not heard of again, since it was queued by its step.';

-- As pgflow.counted_*.
create sequence starflow.counted_runs_started;
create sequence starflow.counted_runs_succeeded;
create sequence starflow.counted_runs_failed;
create sequence starflow.counted_runs_cancelled;
create sequence starflow.counted_claims;
create sequence starflow.counted_losses;

-- 70_engine/_append_event.sql
-- The caller holds the run.
create function starflow._append_event(p_run_id uuid, p_event_type text, p_node_id text, p_payload jsonb)
returns void
language plpgsql
as $$
begin
  insert into starflow.workflow_run_events (run_id, event_type, node_id, payload_json, created_at)
  values (p_run_id, p_event_type, p_node_id, p_payload, pgflow.clock());
end $$;

-- 70_engine/_append_node_event.sql
-- Appends an event of a node unless it is a repetition after a lost answer: the node's last event, of the same attempt, and
-- the run has not changed hands since. The caller holds the run.
create function starflow._append_node_event(p_run_id uuid, p_event_type text, p_node_id text, p_payload jsonb)
returns void
language plpgsql
as $$
declare
  v_last record;
begin
  select e.id, e.event_type, e.payload_json -> 'attempt' as attempt into v_last
  from starflow.workflow_run_events e
  where e.run_id = p_run_id and e.node_id = p_node_id
  order by e.run_id, e.node_id, e.id desc limit 1;
  if v_last.event_type = p_event_type and v_last.attempt is not distinct from p_payload -> 'attempt' and not exists (
    select from starflow.workflow_run_events e
    where e.run_id = p_run_id and e.id > v_last.id
      and e.event_type in ('runner_lost', 'run_released', 'run_resumed', 'run_retried'))
  then
    return;
  end if;
  perform starflow._append_event(p_run_id, p_event_type, p_node_id, p_payload);
end $$;

-- 70_engine/_check_claim.sql
-- The fence. With a runner and claim, that claim must be the run's current one; without, nobody may hold the run. That a lease
-- is over ends no claim: only the sweep does, or whoever cancels the run.
create function starflow._check_claim(p_run starflow.workflow_runs, p_runner_id text, p_claim_attempts integer)
returns void
language plpgsql
as $$
begin
  if p_runner_id is null then
    if p_run.leased_by is not null then
      perform pgflow._raise('SF801', format('Run %s is held by runner "%s".', p_run.id, p_run.leased_by),
        format('Its claim is %s, until %s or longer. This write came without a claim.', p_run.claim_attempts, p_run.lease_until),
        'Write with that claim, or wait until the run is given up.');
    end if;
  elsif p_run.leased_by is distinct from p_runner_id or p_run.claim_attempts is distinct from p_claim_attempts then
    perform pgflow._raise('SF801', format('Runner "%s" no longer holds run %s.', p_runner_id, p_run.id),
      format('It came with claim %s. The run is %s (%s), its claim %s, held by %s.', coalesce(p_claim_attempts::text, 'null'), p_run.status,
             p_run.claim_state, p_run.claim_attempts, coalesce('"' || p_run.leased_by || '"', 'nobody')),
      'Stop executing the run. Whoever holds it goes on with it.');
  end if;
end $$;

-- 70_engine/_check_lease.sql
-- The fence of a worker's report: its attempt is the job's last one, and open. A run that has ended wants no report.
create function starflow._check_lease(p_job starflow.worker_jobs, p_worker_id text, p_attempt integer)
returns void
language plpgsql
as $$
begin
  if p_job.status <> 'leased' or p_job.leased_by is distinct from p_worker_id or p_job.attempt is distinct from p_attempt
     or exists (select from starflow.workflow_runs r where r.id = p_job.run_id and starflow._has_ended(r.status)) then
    perform pgflow._raise('SF943', format('Worker "%s" no longer holds job %s.', p_worker_id, p_job.id),
      format('It came with attempt %s. The job is %s, its attempt %s.', coalesce(p_attempt::text, 'null'), p_job.status, p_job.attempt),
      'Stop the work on it and claim another one. If it is still wanted it is given out again.');
  end if;
end $$;

-- 70_engine/_check_same_run.sql
-- An id, or an idempotency key, that is used again must mean the same run.
create function starflow._check_same_run(p_run starflow.workflow_runs, p_template_id text, p_workspace_id text, p_env text)
returns void
language plpgsql
as $$
begin
  if p_run.workspace_id is distinct from p_workspace_id then
    perform pgflow._raise('SF202', format('Run id %s cannot be used.', p_run.id), format('It was asked for flow "%s".', p_template_id),
      'Use a new run id.');
  end if;
  if p_run.template_id is distinct from p_template_id or p_run.env is distinct from p_env then
    perform pgflow._raise('SF202', format('Run %s already exists and belongs to flow "%s".', p_run.id, p_run.template_id),
      format('It is of env "%s"; asked for was a run of flow "%s" in env "%s".', p_run.env, p_template_id, p_env),
      'Use another id or idempotency key, or leave it out.');
  end if;
end $$;

-- 70_engine/_end_run.sql
-- Gives a run its end and drops what goes with it: its checkpoint, its open waits, its session variables without keepUntil.
-- The lease stays with who ended the run, so that it can repeat its last write; whoever was cancelled or lost has none. The caller
-- holds the row.
create function starflow._end_run(
  p_run starflow.workflow_runs, p_status text, p_claim_state text, p_output jsonb default null, p_error text default null,
  p_duration_ms bigint default null)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := greatest(pgflow.clock(), p_run.started_at);
begin
  update starflow.workflow_runs r set
    status = p_status, claim_state = p_claim_state, claim_state_at = v_now, output = p_output, error = p_error,
    checkpoint_json = null, paused_nodes = null,
    leased_by = case when p_status <> 'cancelled' and p_claim_state <> 'abandoned' then r.leased_by end,
    lease_until = case when p_status <> 'cancelled' and p_claim_state <> 'abandoned' then r.lease_until end,
    completed_at = case when p_status <> 'cancelled' then v_now end,
    cancelled_at = case when p_status = 'cancelled' then v_now end,
    -- Runs may last longer than the 24 days that the column can tell.
    duration_ms = least(greatest(coalesce(p_duration_ms, extract(epoch from v_now - p_run.started_at) * 1000), 0), 2147483647)
  where r.id = p_run.id;
  perform nextval(case p_status when 'success' then 'starflow.counted_runs_succeeded' when 'error' then 'starflow.counted_runs_failed'
                  else 'starflow.counted_runs_cancelled' end::regclass);
  delete from starflow.workflow_waits w where w.run_id = p_run.id and w.status = 'open';
  delete from starflow.workflow_session_vars v where v.run_id = p_run.id and v.keep_until is null;
end $$;

-- 70_engine/_give_up_worker_jobs.sql
-- What a worker was not heard of again goes back to the queue; after three of these it fails, so that a job which kills its workers does
-- not go on for ever. Of runs that have ended nothing is given out any longer.
create function starflow._give_up_worker_jobs(p_kinds text[])
returns void
language plpgsql
as $$
begin
  with lost as (
    select j.id from starflow.worker_jobs j
    where j.lease_until < pgflow.clock() order by j.lease_until limit 100 for update skip locked
  )
  update starflow.worker_jobs j
  set status = case when j.lost_leases >= 2 then 'failed' else 'queued' end,
      completed_at = case when j.lost_leases >= 2 then pgflow.clock() end,
      error = 'worker_lost', lost_leases = j.lost_leases + 1, leased_by = null, lease_until = null
  from lost where j.id = lost.id;

  with pointless as (
    select j.id from starflow.worker_jobs j join starflow.workflow_runs r on r.id = j.run_id
    where j.status = 'queued' and j.kind = any (p_kinds) and starflow._has_ended(r.status)
    order by j.created_at limit 100 for update of j skip locked
  )
  update starflow.worker_jobs j set status = 'cancelled', error = null, completed_at = pgflow.clock()
  from pointless where j.id = pointless.id;
end $$;

-- 70_engine/_has_ended.sql
create function starflow._has_ended(p_status text)
returns boolean
language sql immutable
return p_status in ('success', 'error', 'cancelled');

-- 70_engine/_has_wait.sql
-- Whether the flow has a wait step of this name. A run that is tied to no definition says nothing of its steps: then any may be one.
create function starflow._has_wait(p_definition_id uuid, p_node_id text)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
return p_definition_id is null or exists (
  select from starflow.workflow_definitions d, jsonb_array_elements(d.shape -> 'steps') s
  where d.id = p_definition_id and s ->> 'slug' = p_node_id and s ->> 'stepType' = 'wait');

-- 70_engine/_has_wait_over.sql
-- Whether one of the waits that the run was paused for has its payload, or its timeout, already: one that ended while the run was still held
-- has queued nothing. The caller holds the row.
create function starflow._has_wait_over(p_run starflow.workflow_runs)
returns boolean
language sql
stable
as $$
  select exists (
    select from starflow.workflow_waits w
    where w.run_id = p_run.id and w.node_id = any (p_run.paused_nodes) and w.status <> 'open')
$$;

-- 70_engine/_is_spent.sql
-- Whether this claim was the last one of the run and was given up or taken away since: to give it up (again) has no effect.
create function starflow._is_spent(p_run starflow.workflow_runs, p_runner_id text, p_claim_attempts integer)
returns boolean
language sql immutable
return p_runner_id is not null and (p_run).leased_by is null and (p_run).claim_attempts = p_claim_attempts;

-- 70_engine/_iso.sql
-- An instant in a payload, the same whatever the time zone of the session.
create function starflow._iso(p_at timestamptz)
returns text
language sql stable
return to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- 70_engine/_keep_events.sql
-- Whatever key or role comes: what happened has happened. Events go with their run, or when old runs are pruned.
create function starflow._keep_events()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' or (pg_trigger_depth() = 1 and coalesce(current_setting('starflow.prunes', true), '') <> 'on') then
    perform pgflow._raise('SF804', 'Events of runs are not changed.', 'They are append-only: a run is read from what happened to it.',
      'Add what happened through the functions of the schema starflow. Old runs go with their events: npx starflow prune');
  end if;
  return null;
end $$;
create trigger keep_events before update or delete on starflow.workflow_run_events for each statement execute function starflow._keep_events();

-- 70_engine/_lock_job.sql
-- How a report comes to its job: locked. p_workspace_id: whose the caller is; null: anybody's. A job of another workspace does not
-- exist for the caller.
create function starflow._lock_job(p_job_id uuid, p_workspace_id text)
returns starflow.worker_jobs
language plpgsql
as $$
declare
  v_job starflow.worker_jobs;
begin
  select j.* into v_job from starflow.worker_jobs j join starflow.workflow_runs r on r.id = j.run_id
  where j.id = p_job_id and (p_workspace_id is null or r.workspace_id = p_workspace_id)
  for update of j;
  if v_job.id is null then
    perform pgflow._raise('SF944', format('Worker job %s does not exist.', p_job_id), 'There is no job of that id in the workspace.',
      'Report jobs by the id that they were claimed with.');
  end if;
  return v_job;
end $$;

-- 70_engine/_lock_open_run.sql
-- How the journal comes to a run: locked, by its claim, and not ended.
create function starflow._lock_open_run(p_run_id uuid, p_runner_id text, p_claim_attempts integer)
returns starflow.workflow_runs
language plpgsql
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(p_run_id);
begin
  perform starflow._check_claim(v_run, p_runner_id, p_claim_attempts);
  perform starflow._refuse_end(v_run);
  return v_run;
end $$;

-- 70_engine/_lock_run.sql
-- Everything else of a run (waits, variables, events) is written after its row was locked, so that the ids of its events become
-- visible in their order. Who waited here sees what the former holder committed: the next statement takes a new snapshot.
create function starflow._lock_run(p_run_id uuid)
returns starflow.workflow_runs
language plpgsql
as $$
declare
  v_run starflow.workflow_runs;
begin
  select * into v_run from starflow.workflow_runs r where r.id = p_run_id for no key update;
  if v_run.id is null then
    perform pgflow._raise('SF802', format('Run %s does not exist.', p_run_id), 'This database keeps no run of that id.',
      'Check the id, and that this is the database of the run.');
  end if;
  return v_run;
end $$;

-- 70_engine/_lose_runner.sql
-- A run has lost its runner. It goes back to the queue as long as it did so fewer than max_losses times since it got on:
-- since its last completed node, or since somebody retried it. claim_attempts is no such count: it only grows. The caller
-- holds the row.
create function starflow._lose_runner(p_run starflow.workflow_runs, p_max_losses integer, p_reason text)
returns text
language plpgsql
as $$
declare
  v_progress_id bigint;
  v_losses integer;
begin
  select e.id into v_progress_id from starflow.workflow_run_events e
  where e.run_id = p_run.id and e.event_type in ('node_complete', 'run_retried')
  order by e.run_id desc, e.id desc limit 1;
  select count(*) into v_losses from starflow.workflow_run_events e
  where e.run_id = p_run.id and e.id > coalesce(v_progress_id, 0) and e.event_type = 'runner_lost';

  perform nextval('starflow.counted_losses');
  perform starflow._append_event(p_run.id, 'runner_lost', null, jsonb_build_object('runner_id', p_run.leased_by, 'reason', p_reason));
  if v_losses < p_max_losses then
    perform starflow._queue_run(p_run);
    return 'requeued';
  end if;
  perform starflow._end_run(p_run, 'error', 'abandoned', null, p_reason);
  perform starflow._append_event(p_run.id, 'run_failed', null, jsonb_build_object('error', jsonb_build_object(
    'name', 'RunnerLostError', 'message', p_reason)));
  return 'abandoned';
end $$;

-- 70_engine/_milliseconds.sql
create function starflow._milliseconds(p_ms bigint)
returns interval
language sql immutable
return p_ms * interval '1 millisecond';

-- 70_engine/_queue_run.sql
-- Puts a run into the queue, behind a delay. Nobody holds it then; its status becomes queued unless it is paused. The caller
-- holds the row.
create function starflow._queue_run(p_run starflow.workflow_runs, p_delay_ms bigint default 0)
returns void
language plpgsql
as $$
begin
  update starflow.workflow_runs r set
    status = case r.status when 'paused' then 'paused' else 'queued' end,
    claim_state = 'queued', claim_state_at = pgflow.clock(), leased_by = null, lease_until = null,
    queued_at = pgflow.clock(), available_at = pgflow.clock() + starflow._milliseconds(p_delay_ms)
  where r.id = p_run.id;
  if p_delay_ms <= 0 then
    perform starflow._wake_runners(p_run.runner_pool);
  end if;
end $$;

-- 70_engine/_refuse_end.sql
create function starflow._refuse_end(p_run starflow.workflow_runs)
returns void
language plpgsql
as $$
begin
  if starflow._has_ended(p_run.status) then
    perform pgflow._raise('SF801', format('Run %s has ended.', p_run.id), format('Its status is %s. Ends are final.', p_run.status),
      'Stop executing the run. A failed or cancelled one can be retried.');
  end if;
end $$;

-- 70_engine/_wait_is_over.sql
-- A wait of this run has just ended: queues the run if it does nothing but wait, also for a delay beside the wait. One that a runner
-- still holds is queued by clear_lease or release_run, one that executes something else reads the wait when it comes to it. The caller
-- holds the row.
create function starflow._wait_is_over(p_run starflow.workflow_runs)
returns void
language plpgsql
as $$
begin
  if p_run.claim_state = 'paused' or (p_run.claim_state = 'queued' and p_run.available_at > pgflow.clock()) then
    perform starflow._queue_run(p_run);
  end if;
end $$;

-- 70_engine/_wake_runners.sql
-- Tells listening runners that a run of this pool can be claimed; they hear it when the transaction commits. A hint: who does
-- not listen asks at its interval.
create function starflow._wake_runners(p_runner_pool text)
returns void
language plpgsql
as $$
begin
  perform pg_notify('starflow_queue', coalesce(p_runner_pool, ''));
end $$;

-- 70_engine/cancel_run.sql
create function starflow.cancel_run(run_id uuid, reason text default null)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(cancel_run.run_id);
begin
  if starflow._has_ended(v_run.status) then
    return false;
  end if;
  perform starflow._end_run(v_run, 'cancelled', 'complete');
  perform starflow._append_event(cancel_run.run_id, 'run_cancelled', null, jsonb_build_object('reason', cancel_run.reason));
  return true;
end $$;
comment on function starflow.cancel_run(uuid, text) is
  'Ends the run as cancelled; a runner that executes it is refused at its next write or heartbeat. False when the run had ended already.';

-- 70_engine/cancel_worker_job.sql
create function starflow.cancel_worker_job(job_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update starflow.worker_jobs j
  set status = 'cancelled', leased_by = null, lease_until = null, error = null, completed_at = pgflow.clock()
  where j.id = job_id and j.status in ('queued', 'leased');
end $$;
comment on function starflow.cancel_worker_job(uuid) is
  'Nobody waits for the job any longer: it is not given out, and its worker is told with its next heartbeat. Of a job that has ended: no effect.';

-- 70_engine/claim_next_queued_run.sql
-- Candidates are read without a lock, the oldest of either pool, and then one is taken: the first that nobody else locks. Two
-- index scans that end after a few rows each, because a single one over "my pool or nobody's" would sort the whole queue.
-- 32 of each: more than claims that meet at the same moment, since each holds its run for the rest of its transaction only.
-- The row is found again by its id and by what its claim_state was when it was read: for a constant 'queued' the plan would read
-- the whole queue by its index. The settings keep a plan that was made while the table was empty from reading it whole later.
create function starflow.claim_next_queued_run(
  runner_id text, lease_ttl_ms bigint, definition_ids uuid[], runner_pool text default null)
returns setof starflow.workflow_runs
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query
    with candidates as materialized (
      (select r.id, r.claim_state, r.queued_at from starflow.workflow_runs r
       where r.claim_state = 'queued' and r.runner_pool is null
         and r.available_at <= pgflow.clock() and r.definition_id = any (claim_next_queued_run.definition_ids)
       order by r.runner_pool, r.queued_at limit 32)
      union all
      (select r.id, r.claim_state, r.queued_at from starflow.workflow_runs r
       where r.claim_state = 'queued' and r.runner_pool = claim_next_queued_run.runner_pool
         and r.available_at <= pgflow.clock() and r.definition_id = any (claim_next_queued_run.definition_ids)
       order by r.runner_pool, r.queued_at limit 32)
    ), taken as materialized (
      select r.id, r.claim_state from candidates c join starflow.workflow_runs r on r.id = c.id and r.claim_state = c.claim_state
      order by c.queued_at limit 1
      for no key update of r skip locked
    )
    update starflow.workflow_runs r set
      claim_state = 'claimed', claim_state_at = pgflow.clock(), leased_by = claim_next_queued_run.runner_id,
      lease_until = pgflow.clock() + starflow._milliseconds(lease_ttl_ms), last_heartbeat = pgflow.clock(),
      claim_attempts = r.claim_attempts + 1
    from taken t
    where r.id = t.id and r.claim_state = t.claim_state
    returning r.*;
  if found then
    perform nextval('starflow.counted_claims');
  end if;
end $$;
comment on function starflow.claim_next_queued_run(text, bigint, uuid[], text) is
  'Takes the oldest run that is due, of these definitions, and of this pool or nobody''s. One row, or none.';

-- 70_engine/claim_worker_job.sql
create function starflow.claim_worker_job(worker_id text, kinds text[], lease_ms bigint, workspace_id text default null)
returns table (job_id uuid, run_id uuid, node_id text, kind text, payload jsonb, attempt integer, lease_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._give_up_worker_jobs(kinds);
  return query
    update starflow.worker_jobs j
    set status = 'leased', leased_by = claim_worker_job.worker_id, attempt = j.attempt + 1,
        lease_until = pgflow.clock() + starflow._milliseconds(lease_ms)
    where j.id = (
      select q.id from starflow.worker_jobs q join starflow.workflow_runs r on r.id = q.run_id
      where q.status = 'queued' and q.kind = any (kinds) and not starflow._has_ended(r.status)
        and (claim_worker_job.workspace_id is null or r.workspace_id = claim_worker_job.workspace_id)
      order by q.created_at, q.id limit 1
      for update of q skip locked)
    returning j.id, j.run_id, j.node_id, j.kind, j.payload, j.attempt, j.lease_until;
end $$;
comment on function starflow.claim_worker_job(text, text[], bigint, text) is
  'An external worker takes the oldest job of these kinds, of one workspace or any, or nothing. It is its own until the lease is over; attempt fences its report.';

-- 70_engine/clear_lease.sql
create function starflow.clear_lease(run_id uuid, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(clear_lease.run_id);
begin
  if starflow._is_spent(v_run, clear_lease.runner_id, clear_lease.claim_attempts) then
    return;
  end if;
  perform starflow._check_claim(v_run, clear_lease.runner_id, clear_lease.claim_attempts);
  -- A wait that ended while the run was still held has queued nothing: it is done here, or nobody would. What was claimed and
  -- never started goes back as well.
  if v_run.claim_state = 'claimed' or (v_run.claim_state = 'running' and starflow._has_wait_over(v_run)) then
    perform starflow._queue_run(v_run);
    return;
  end if;
  update starflow.workflow_runs r set
    leased_by = null, lease_until = null,
    claim_state = case when r.status = 'paused' and r.claim_state = 'running' then 'paused' else r.claim_state end,
    claim_state_at = case when r.status = 'paused' and r.claim_state = 'running' then pgflow.clock() else r.claim_state_at end
  where r.id = clear_lease.run_id;
end $$;
comment on function starflow.clear_lease(uuid, text, integer) is
  'Nobody holds the run any longer. A paused one waits (claim_state paused), or is queued if its wait is over already. Again: no effect.';

-- 70_engine/collect_sessions.sql
create function starflow.collect_sessions()
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count integer;
begin
  delete from starflow.workflow_session_vars v
  where (v.session_id, v.key) in (
    select o.session_id, o.key from starflow.workflow_session_vars o where o.keep_until <= pgflow.clock() for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;
comment on function starflow.collect_sessions() is 'Removes expired session variables; returns how many.';

-- 70_engine/complete_worker_job.sql
create function starflow.complete_worker_job(
  job_id uuid, worker_id text, attempt integer, result jsonb, workspace_id text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job starflow.worker_jobs := starflow._lock_job(job_id, complete_worker_job.workspace_id);
begin
  -- The answer to the first report was lost.
  if v_job.status = 'completed' and v_job.attempt = complete_worker_job.attempt then return; end if;
  perform starflow._check_lease(v_job, worker_id, complete_worker_job.attempt);
  update starflow.worker_jobs j
  set status = 'completed', result = coalesce(complete_worker_job.result, 'null'), error = null, leased_by = null, lease_until = null,
      completed_at = pgflow.clock()
  where j.id = job_id;
end $$;
comment on function starflow.complete_worker_job(uuid, text, integer, jsonb, text) is
  'The job is done, and its step gets the result. Again for the same attempt: no effect, and the first result stays.';

-- 70_engine/enqueue_run.sql
create function starflow.enqueue_run(
  run_id uuid, template_id text, workspace_id text, env text, input jsonb, definition_id uuid default null, runner_pool text default null,
  idempotency_key text default null, delay_ms bigint default 0, traceparent text default null)
returns table (id uuid, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs;
begin
  perform pgflow._check_idempotency_key(enqueue_run.template_id, enqueue_run.idempotency_key);
  -- Whichever unique index is met: who inserts the same at this moment is waited for, and then found.
  insert into starflow.workflow_runs as r (
    id, template_id, workspace_id, env, input, definition_id, runner_pool, idempotency_key, status, claim_state, claim_state_at, created_at,
    queued_at, available_at, traceparent)
  values (
    enqueue_run.run_id, enqueue_run.template_id, enqueue_run.workspace_id, enqueue_run.env, coalesce(enqueue_run.input, 'null'),
    enqueue_run.definition_id, enqueue_run.runner_pool, enqueue_run.idempotency_key, 'queued', 'queued', pgflow.clock(), pgflow.clock(),
    pgflow.clock(), pgflow.clock() + starflow._milliseconds(delay_ms), enqueue_run.traceparent)
  on conflict do nothing;
  if found then
    perform nextval('starflow.counted_runs_started');
    if delay_ms <= 0 then
      perform starflow._wake_runners(enqueue_run.runner_pool);
    end if;
    return query values (enqueue_run.run_id, true);
    return;
  end if;
  select * into v_run from starflow.workflow_runs r where r.id = enqueue_run.run_id;
  if v_run.id is null then
    select * into v_run from starflow.workflow_runs r
    where r.workspace_id = enqueue_run.workspace_id and r.env = enqueue_run.env and r.idempotency_key = enqueue_run.idempotency_key;
  end if;
  perform starflow._check_same_run(v_run, enqueue_run.template_id, enqueue_run.workspace_id, enqueue_run.env);
  return query values (v_run.id, false);
end $$;
comment on function starflow.enqueue_run(uuid, text, text, text, jsonb, uuid, text, text, bigint, text) is
  'Queues a run. The same id, or the same idempotency key in its workspace and env, gives the run that is there.';

-- 70_engine/enqueue_worker_job.sql
-- The key finds the job again: a step that begins anew, with another runner or after a failure of its own, gets the job that it has
-- handed out before, with its result if there is one. Only a job that has failed is handed out anew: the step asks for another attempt.
create function starflow.enqueue_worker_job(
  run_id uuid, node_id text, kind text, payload jsonb, idempotency_key text,
  runner_id text default null, claim_attempts integer default null)
returns setof starflow.worker_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._lock_open_run(
    enqueue_worker_job.run_id, enqueue_worker_job.runner_id, enqueue_worker_job.claim_attempts);
  return query
    insert into starflow.worker_jobs as j (run_id, node_id, kind, payload, idempotency_key, created_at)
    values (enqueue_worker_job.run_id, enqueue_worker_job.node_id, enqueue_worker_job.kind,
            coalesce(enqueue_worker_job.payload, 'null'), enqueue_worker_job.idempotency_key, pgflow.clock())
    on conflict (run_id, idempotency_key) do update
    set status = case when j.status in ('failed', 'cancelled') then 'queued' else j.status end,
        completed_at = case when j.status = 'completed' then j.completed_at end,
        error = case when j.status = 'cancelled' then null else j.error end,
        lost_leases = case when j.status in ('failed', 'cancelled') then 0 else j.lost_leases end,
        is_permanent = false
    returning j.*;
end $$;
comment on function starflow.enqueue_worker_job(uuid, text, text, jsonb, text, text, integer) is
  'A step hands work out, or finds what it has handed out under this key before. A job that has failed is queued again.';

-- 70_engine/expire_old_leases.sql
-- Waits for no run: what somebody locks is being written by its runner (then its lease may be refreshed), resumed, cancelled or swept
-- by another server, and is looked at again next time. At most max_rows runs of each kind in one call, so that no timeout of the
-- statement can undo all of it again and again: whoever gets as many calls again.
create function starflow.expire_old_leases(
  ttl_ms bigint, max_losses integer, reason text default 'runner_lost', max_rows integer default 500)
returns table (run_id uuid, outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  v_run starflow.workflow_runs;
begin
  delete from starflow.workflow_runners w
  where w.runner_id in (
    select o.runner_id from starflow.workflow_runners o where o.live_until < pgflow.clock() - interval '1 day' for update skip locked);

  for v_run in
    select * from starflow.workflow_runs r
    where r.lease_until < pgflow.clock()
       or (r.lease_until is null and r.claim_state = 'running' and r.claim_state_at < pgflow.clock() - starflow._milliseconds(ttl_ms))
    order by r.lease_until
    limit max_rows
    for no key update skip locked
  loop
    if starflow._has_ended(v_run.status) then
      update starflow.workflow_runs r set leased_by = null, lease_until = null where r.id = v_run.id;
      continue;
    end if;
    return query select v_run.id, starflow._lose_runner(v_run, max_losses, expire_old_leases.reason);
  end loop;

  for v_run in
    select * from starflow.workflow_runs r
    where r.id in (select w.run_id from starflow.workflow_waits w where w.status = 'open' and w.due_at <= pgflow.clock())
      and r.status = 'paused'
    order by r.id
    limit max_rows
    for no key update skip locked
  loop
    -- A resume may have come in before the lock: then nothing is due any longer.
    update starflow.workflow_waits w set status = 'timed_out', ended_at = pgflow.clock()
    where w.run_id = v_run.id and w.status = 'open' and w.due_at <= pgflow.clock();
    if found then
      perform starflow._wait_is_over(v_run);
      return query values (v_run.id, 'wait_over');
    end if;
  end loop;
end $$;
comment on function starflow.expire_old_leases(bigint, integer, text, integer) is
  'The sweep: runs whose runner is lost go back to the queue, or end as abandoned after max_losses without progress; paused runs whose wait is due are queued. outcome: requeued, abandoned or wait_over.';

-- 70_engine/fail_worker_job.sql
create function starflow.fail_worker_job(
  job_id uuid, worker_id text, attempt integer, error text, is_permanent boolean default false, workspace_id text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job starflow.worker_jobs := starflow._lock_job(job_id, fail_worker_job.workspace_id);
begin
  if v_job.status = 'failed' and v_job.attempt = fail_worker_job.attempt then return; end if;
  perform starflow._check_lease(v_job, worker_id, fail_worker_job.attempt);
  update starflow.worker_jobs j
  set status = 'failed', error = fail_worker_job.error, is_permanent = fail_worker_job.is_permanent, leased_by = null, lease_until = null,
      completed_at = pgflow.clock()
  where j.id = job_id;
end $$;
comment on function starflow.fail_worker_job(uuid, text, integer, text, boolean, text) is
  'The job could not be done: the attempt of its step fails, and the step''s retries decide what follows; with is_permanent there are none.';

-- 70_engine/heartbeat.sql
-- Locks the runner's row, then its runs in the order of their ids.
create function starflow.heartbeat(
  runner_id text, ttl_ms bigint, capacity integer, definition_ids uuid[] default '{}', claims jsonb default '[]', runner_pool text default null,
  is_accepting boolean default true, refused_flows jsonb default '{}', workspace_id text default null)
returns table (run_id uuid, claim_attempts integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  insert into starflow.workflow_runners as w (runner_id, runner_pool, capacity, definition_ids, live_until, is_accepting, refused_flows,
    workspace_id, last_heartbeat, started_at)
  values (heartbeat.runner_id, heartbeat.runner_pool, heartbeat.capacity, heartbeat.definition_ids,
          pgflow.clock() + starflow._milliseconds(ttl_ms), heartbeat.is_accepting, heartbeat.refused_flows, heartbeat.workspace_id,
          pgflow.clock(), pgflow.clock())
  on conflict on constraint workflow_runners_pkey do update set
    runner_pool = excluded.runner_pool, capacity = excluded.capacity, definition_ids = excluded.definition_ids,
    live_until = excluded.live_until, is_accepting = excluded.is_accepting, refused_flows = excluded.refused_flows,
    workspace_id = excluded.workspace_id, last_heartbeat = excluded.last_heartbeat;
  return query
    with given as (
      select c.run_id, c.claim_attempts from jsonb_to_recordset(heartbeat.claims) c (run_id uuid, claim_attempts integer)
    ), held as (
      select r.id from given g join starflow.workflow_runs r on r.id = g.run_id
      where r.leased_by = heartbeat.runner_id and r.claim_attempts = g.claim_attempts
      order by r.id
      for no key update of r
    ), refreshed as (
      update starflow.workflow_runs r set lease_until = pgflow.clock() + starflow._milliseconds(ttl_ms), last_heartbeat = pgflow.clock()
      from held h where r.id = h.id
      returning r.id
    )
    select g.run_id, g.claim_attempts from given g where not exists (select from refreshed f where f.id = g.run_id);
end $$;
comment on function starflow.heartbeat(text, bigint, integer, uuid[], jsonb, text, boolean, jsonb, text) is
  'A runner''s sign of life and all its leases in one call. claims: [{ run_id, claim_attempts }]; returned are those that it does not hold any longer. is_accepting false: it serves no further run. refused_flows: { slug: why }.';

-- 70_engine/heartbeat_worker_job.sql
create function starflow.heartbeat_worker_job(
  job_id uuid, worker_id text, attempt integer, lease_ms bigint, workspace_id text default null)
returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job starflow.worker_jobs := starflow._lock_job(job_id, heartbeat_worker_job.workspace_id);
  v_lease_until timestamptz := pgflow.clock() + starflow._milliseconds(lease_ms);
begin
  perform starflow._check_lease(v_job, worker_id, heartbeat_worker_job.attempt);
  update starflow.worker_jobs j set lease_until = v_lease_until where j.id = job_id;
  return v_lease_until;
end $$;
comment on function starflow.heartbeat_worker_job(uuid, text, integer, bigint, text) is
  'The worker is still at it: its lease lasts from now. Refused when the job is no longer its own, or nobody waits for it: then it stops.';

-- 70_engine/list_leases.sql
create function starflow.list_leases(workspace_id text default null, max_rows integer default 100)
returns setof starflow.listed_run
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select r.id, r.template_id, r.workspace_id, r.env, r.status, r.claim_state, r.error, r.definition_id, r.runner_pool, r.leased_by,
           r.lease_until, r.last_heartbeat, r.claim_attempts, r.created_at, r.queued_at, r.available_at, r.started_at, r.completed_at,
           r.cancelled_at, r.duration_ms, true
    from starflow.workflow_runs r
    where r.lease_until is not null and (list_leases.workspace_id is null or r.workspace_id = list_leases.workspace_id)
    order by r.lease_until, r.id
    limit max_rows;
end $$;
comment on function starflow.list_leases(text, integer) is 'Runs that a runner holds; the one whose lease is over first at the top.';

-- 70_engine/list_open_waits.sql
create function starflow.list_open_waits(workspace_id text default null, max_rows integer default 100)
returns table (run_id uuid, node_id text, template_id text, opened_at timestamptz, due_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select w.run_id, w.node_id, r.template_id, w.opened_at, w.due_at
    from starflow.workflow_waits w
    join starflow.workflow_runs r on r.id = w.run_id
    where w.status = 'open' and (list_open_waits.workspace_id is null or r.workspace_id = list_open_waits.workspace_id)
    order by w.opened_at, w.run_id, w.node_id
    limit max_rows;
end $$;
comment on function starflow.list_open_waits(text, integer) is
  'What somebody is waited for, with the flow of its run, oldest first. A run that has ended waits for nothing.';

-- 70_engine/list_runners.sql
create function starflow.list_runners()
returns table (runner_id text, runner_pool text, capacity integer, runs integer, last_heartbeat timestamptz, is_live boolean,
  is_accepting boolean, workspace_id text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    with held as (
      select r.leased_by, count(*)::integer as runs from starflow.workflow_runs r
      where r.lease_until is not null and r.claim_state in ('claimed', 'running') group by r.leased_by
    )
    select w.runner_id, w.runner_pool, w.capacity, coalesce(h.runs, 0), w.last_heartbeat, w.live_until > pgflow.clock(),
           w.is_accepting, w.workspace_id
    from starflow.workflow_runners w left join held h on h.leased_by = w.runner_id
    order by w.runner_id;
end $$;
comment on function starflow.list_runners() is 'Runners that were heard of within the last day, with the runs they hold.';

-- 70_engine/list_runs.sql
-- Planned for the filters at hand, and always in the order of an index: to sort means to read all runs for one page. What no index
-- tells is looked at run by run, and no further than look_at: of a page that ends there, the last row is no run of the list
-- (is_found is false), and the next page begins behind it.
create function starflow.list_runs(
  workspace_id text default null, env text default null, template_id text default null, statuses text[] default null, search text default null,
  first_id uuid default null, last_id uuid default null, created_from timestamptz default null, created_before timestamptz default null,
  before_created_at timestamptz default null, before_id uuid default null, max_rows integer default 50, look_at integer default null)
returns setof starflow.listed_run
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set enable_sort = off set enable_incremental_sort = off
set enable_bitmapscan = off set max_parallel_workers_per_gather = 0 set jit = off
as $$
#variable_conflict use_column
declare
  v_run starflow.listed_run;
  v_found integer := 0;
  v_looked_at integer := 0;
  -- Statuses that have an index of their own.
  v_is_indexed boolean := list_runs.statuses <@ '{error,cancelled}' or list_runs.statuses <@ '{queued,running,paused}';
begin
  -- Ids are in no order of time; few begin alike, and are sorted. The setting ends with the function.
  if first_id is not null then
    perform set_config('enable_sort', 'on', true);
  end if;
  for v_run in
    select r.id, r.template_id, r.workspace_id, r.env, r.status, r.claim_state, r.error, r.definition_id, r.runner_pool, r.leased_by,
           r.lease_until, r.last_heartbeat, r.claim_attempts, r.created_at, r.queued_at, r.available_at, r.started_at, r.completed_at,
           r.cancelled_at, r.duration_ms, true
    from starflow.workflow_runs r
    where (list_runs.workspace_id is null or r.workspace_id = list_runs.workspace_id)
      and (first_id is null or r.id between first_id and last_id)
      and (created_from is null or r.created_at >= created_from)
      and (created_before is null or r.created_at < created_before)
      and (before_created_at is null or (r.created_at, r.id) < (before_created_at, before_id))
      and (not coalesce(v_is_indexed, false) or r.status = any (list_runs.statuses))
    order by r.created_at desc, r.id desc
    limit look_at
  loop
    v_looked_at := v_looked_at + 1;
    continue when v_run.env <> list_runs.env or v_run.template_id is distinct from coalesce(list_runs.template_id, v_run.template_id)
      or v_run.status <> all (list_runs.statuses)
      or not coalesce(starts_with(v_run.id::text, search) or strpos(lower(v_run.template_id collate "C"), search) > 0 or strpos(lower(v_run.error), search) > 0,
                      search is null);
    return next v_run;
    v_found := v_found + 1;
    exit when v_found = max_rows;
  end loop;
  if v_found < max_rows and v_looked_at = look_at then
    v_run.is_found := false;
    return next v_run;
  end if;
end $$;
comment on function starflow.list_runs(text, text, text, text[], text, uuid, uuid, timestamptz, timestamptz, timestamptz, uuid, integer, integer) is
  'Runs, the newest first; what is null is not filtered by. search (in lower case) is the beginning of an id, or part of flow slug or error. For the next page give created_at and id of the last row. Looks at look_at runs at most: then the last row may be one that is not found, where the next page begins.';

-- 70_engine/list_unserved_runs.sql
-- A runner that drains has its leases and no ear for anything new.
create function starflow.list_unserved_runs(workspace_id text default null, max_rows integer default 100)
returns table (run_id uuid, template_id text, queued_at timestamptz, runner_pool text, reason text, detail text)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    with accepting as materialized (
      select w.runner_pool, w.definition_ids, w.refused_flows from starflow.workflow_runners w
      where w.live_until > pgflow.clock() and w.is_accepting
    ), unserved as (
      select r.id, r.template_id, r.queued_at, r.runner_pool, r.definition_id,
             (select a.refused_flows ->> r.template_id from accepting a where a.refused_flows ? r.template_id limit 1) as refusal
      from starflow.workflow_runs r
      where r.claim_state = 'queued' and r.available_at <= pgflow.clock()
        and (list_unserved_runs.workspace_id is null or r.workspace_id = list_unserved_runs.workspace_id)
        and not exists (
          select from accepting a
          where r.definition_id = any (a.definition_ids) and (r.runner_pool is null or r.runner_pool = a.runner_pool))
      order by r.queued_at, r.id
      limit max_rows
    )
    select u.id, u.template_id, u.queued_at, u.runner_pool,
           case when not exists (select from accepting) then 'no_runner'
                when exists (select from accepting a where u.definition_id = any (a.definition_ids)) then 'other_pool'
                when u.refusal is not null then 'refused'
                else 'other_definition' end,
           u.refusal
    from unserved u
    order by u.queued_at, u.id;
end $$;
comment on function starflow.list_unserved_runs(text, integer) is
  'Queued runs that no live runner serves, oldest first, and why: no_runner (none lives that takes new runs), refused (a runner has the flow and cannot execute it; detail says why), other_definition or other_pool.';

-- 70_engine/on_node_complete.sql
create function starflow.on_node_complete(
  run_id uuid, node_id text, output jsonb, attempt integer default null, duration_ms bigint default null, runner_id text default null,
  claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._lock_open_run(on_node_complete.run_id, on_node_complete.runner_id, on_node_complete.claim_attempts);
  insert into starflow.workflow_run_events (run_id, event_type, node_id, payload_json, created_at)
  values (on_node_complete.run_id, 'node_complete', on_node_complete.node_id,
          jsonb_build_object('output', coalesce(output, 'null'))
            || jsonb_strip_nulls(jsonb_build_object('attempt', attempt, 'duration_ms', on_node_complete.duration_ms)),
          pgflow.clock())
  on conflict (run_id, node_id) where event_type = 'node_complete' do nothing;
end $$;
comment on function starflow.on_node_complete(uuid, text, jsonb, integer, bigint, text, integer) is
  'A node has its one accepted output: node_complete { output, attempt?, duration_ms? }. Another one for the same node has no effect.';

-- 70_engine/on_node_error.sql
create function starflow.on_node_error(
  run_id uuid, node_id text, attempt integer, error jsonb, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(on_node_error.run_id, on_node_error.runner_id, on_node_error.claim_attempts);
  perform starflow._append_node_event(on_node_error.run_id, 'node_error', on_node_error.node_id,
    jsonb_build_object('attempt', attempt, 'error', on_node_error.error));
end $$;
comment on function starflow.on_node_error(uuid, text, integer, jsonb, text, integer) is
  'A node failed for good, past its retries: node_error { attempt, error }.';

-- 70_engine/on_node_retry.sql
create function starflow.on_node_retry(
  run_id uuid, node_id text, attempt integer, error jsonb, delay_ms bigint, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(on_node_retry.run_id, on_node_retry.runner_id, on_node_retry.claim_attempts);
  perform starflow._append_node_event(on_node_retry.run_id, 'node_retry', on_node_retry.node_id, jsonb_build_object(
    'attempt', attempt, 'error', on_node_retry.error, 'delay_ms', delay_ms,
    'due_at', starflow._iso(pgflow.clock() + starflow._milliseconds(delay_ms))));
end $$;
comment on function starflow.on_node_retry(uuid, text, integer, jsonb, bigint, text, integer) is
  'An attempt failed and another one follows: node_retry { attempt, error, delay_ms, due_at }, due by the clock of the database.';

-- 70_engine/on_node_skip.sql
create function starflow.on_node_skip(
  run_id uuid, node_id text, reason text, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(on_node_skip.run_id, on_node_skip.runner_id, on_node_skip.claim_attempts);
  perform starflow._append_node_event(on_node_skip.run_id, 'node_skip', on_node_skip.node_id, jsonb_build_object('reason', reason));
end $$;
comment on function starflow.on_node_skip(uuid, text, text, text, integer) is 'A node is skipped: node_skip { reason }.';

-- 70_engine/on_node_start.sql
create function starflow.on_node_start(
  run_id uuid, node_id text, attempt integer, input jsonb default null, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(on_node_start.run_id, on_node_start.runner_id, on_node_start.claim_attempts);
  perform starflow._append_node_event(on_node_start.run_id, 'node_start', on_node_start.node_id,
    jsonb_strip_nulls(jsonb_build_object('attempt', attempt)) || case when input is null then '{}' else jsonb_build_object('input', input) end);
end $$;
comment on function starflow.on_node_start(uuid, text, integer, jsonb, text, integer) is 'An attempt of a node begins: node_start { attempt, input? }.';

-- 70_engine/on_run_complete.sql
create function starflow.on_run_complete(
  run_id uuid, output jsonb, duration_ms bigint, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(on_run_complete.run_id);
begin
  perform starflow._check_claim(v_run, on_run_complete.runner_id, on_run_complete.claim_attempts);
  if v_run.status = 'success' then
    return;
  end if;
  perform starflow._refuse_end(v_run);
  perform starflow._end_run(v_run, 'success', 'complete', coalesce(output, 'null'), null, on_run_complete.duration_ms);
  perform starflow._append_event(on_run_complete.run_id, 'run_completed', null, jsonb_build_object('duration_ms', on_run_complete.duration_ms));
end $$;
comment on function starflow.on_run_complete(uuid, jsonb, bigint, text, integer) is
  'The run succeeded: status success, run_completed { duration_ms }. Its session variables without keep_until go.';

-- 70_engine/on_run_error.sql
create function starflow.on_run_error(run_id uuid, error jsonb, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(on_run_error.run_id);
begin
  perform starflow._check_claim(v_run, on_run_error.runner_id, on_run_error.claim_attempts);
  if v_run.status = 'error' then
    return;
  end if;
  perform starflow._refuse_end(v_run);
  perform starflow._end_run(v_run, 'error', 'failed', null, coalesce(on_run_error.error ->> 'message', ''));
  perform starflow._append_event(on_run_error.run_id, 'run_failed', null, jsonb_build_object('error', on_run_error.error));
end $$;
comment on function starflow.on_run_error(uuid, jsonb, text, integer) is
  'The run failed: status error with the message, run_failed { error }. Its session variables without keep_until go.';

-- 70_engine/on_run_paused.sql
create function starflow.on_run_paused(
  run_id uuid, node_ids text[], runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_open_run(on_run_paused.run_id, on_run_paused.runner_id, on_run_paused.claim_attempts);
begin
  if v_run.status = 'paused' and v_run.paused_nodes = node_ids then
    return;
  end if;
  update starflow.workflow_runs r set
    status = 'paused', paused_nodes = node_ids, claim_state = 'running',
    claim_state_at = case r.claim_state when 'running' then r.claim_state_at else pgflow.clock() end
  where r.id = on_run_paused.run_id;
  perform starflow._append_event(on_run_paused.run_id, 'run_paused', null, jsonb_build_object('nodes', node_ids));
end $$;
comment on function starflow.on_run_paused(uuid, text[], text, integer) is
  'The run does nothing but wait for these nodes: status paused, run_paused { nodes }. Its runner holds it until clear_lease.';

-- 70_engine/on_run_resumed.sql
create function starflow.on_run_resumed(run_id uuid, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_open_run(on_run_resumed.run_id, on_run_resumed.runner_id, on_run_resumed.claim_attempts);
begin
  if v_run.status <> 'paused' then
    return;
  end if;
  update starflow.workflow_runs r set
    status = 'running', checkpoint_json = null, paused_nodes = null, claim_state = 'running',
    claim_state_at = case r.claim_state when 'running' then r.claim_state_at else pgflow.clock() end
  where r.id = on_run_resumed.run_id;
  perform starflow._append_event(on_run_resumed.run_id, 'run_resumed', null, null);
end $$;
comment on function starflow.on_run_resumed(uuid, text, integer) is 'A paused run goes on: status running, checkpoint cleared, run_resumed.';

-- 70_engine/on_run_start.sql
create function starflow.on_run_start(
  run_id uuid, template_id text, workspace_id text, env text, input jsonb, definition_id uuid default null,
  runner_id text default null, claim_attempts integer default null,
  traceparent text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs;
begin
  -- Who has a claim has a run.
  if on_run_start.runner_id is null then
    insert into starflow.workflow_runs as r (
      id, template_id, workspace_id, env, input, definition_id, status, claim_state, claim_state_at, created_at, started_at,
      traceparent)
    values (
      on_run_start.run_id, on_run_start.template_id, on_run_start.workspace_id, on_run_start.env, coalesce(on_run_start.input, 'null'),
      on_run_start.definition_id, 'running', 'running', pgflow.clock(), pgflow.clock(), pgflow.clock(),
      on_run_start.traceparent)
    on conflict (id) do nothing;
    if found then
      perform nextval('starflow.counted_runs_started');
      perform starflow._append_event(on_run_start.run_id, 'run_started', null, null);
      return;
    end if;
  end if;
  v_run := starflow._lock_open_run(on_run_start.run_id, on_run_start.runner_id, on_run_start.claim_attempts);
  perform starflow._check_same_run(v_run, on_run_start.template_id, on_run_start.workspace_id, on_run_start.env);
  if v_run.claim_state in ('running', 'paused') then
    return;
  end if;
  update starflow.workflow_runs r set
    status = case r.status when 'paused' then 'paused' else 'running' end,
    claim_state = 'running', claim_state_at = pgflow.clock(), started_at = coalesce(r.started_at, pgflow.clock())
  where r.id = on_run_start.run_id;
  if v_run.started_at is null then
    perform starflow._append_event(on_run_start.run_id, 'run_started', null, null);
  end if;
end $$;
comment on function starflow.on_run_start(uuid, text, text, text, jsonb, uuid, text, integer, text) is
  'The run begins to execute: inserts it when it was never enqueued, else moves it from claimed to running. A paused run keeps its status until on_run_resumed.';

-- 70_engine/on_variable_set.sql
create function starflow.on_variable_set(
  run_id uuid, key text, value jsonb, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value jsonb := coalesce(value, 'null');
  v_last jsonb;
begin
  perform starflow._lock_open_run(on_variable_set.run_id, on_variable_set.runner_id, on_variable_set.claim_attempts);
  select e.payload_json -> 'value' into v_last from starflow.workflow_run_events e
  where e.run_id = on_variable_set.run_id and e.event_type = 'variable' and e.payload_json ->> 'key' = on_variable_set.key
  order by e.run_id, e.payload_json ->> 'key', e.id desc limit 1;
  if v_last is distinct from v_value then
    perform starflow._append_event(on_variable_set.run_id, 'variable', null, jsonb_build_object('key', on_variable_set.key, 'value', v_value));
  end if;
end $$;
comment on function starflow.on_variable_set(uuid, text, jsonb, text, integer) is
  'A variable of the flow''s author: variable { key, value }, unless it has that value already.';

-- 70_engine/open_wait.sql
create function starflow.open_wait(
  run_id uuid, node_id text, timeout_ms bigint default null, runner_id text default null, claim_attempts integer default null)
returns setof starflow.workflow_waits
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._lock_open_run(open_wait.run_id, open_wait.runner_id, open_wait.claim_attempts);
  insert into starflow.workflow_waits as w (run_id, node_id, status, opened_at, due_at, created_at)
  values (open_wait.run_id, open_wait.node_id, 'open', pgflow.clock(), pgflow.clock() + starflow._milliseconds(timeout_ms), pgflow.clock())
  on conflict on constraint workflow_waits_pkey do update set status = 'resumed', opened_at = pgflow.clock(), ended_at = pgflow.clock()
  where w.status = 'early';
  return query select w.* from starflow.workflow_waits w where w.run_id = open_wait.run_id and w.node_id = open_wait.node_id;
end $$;
comment on function starflow.open_wait(uuid, text, bigint, text, integer) is
  'From now on the timeout of this wait runs. A payload that arrived early is returned with it, and the wait is over. Again: no effect.';

-- 70_engine/read_definition.sql
create function starflow.read_definition(definition_id uuid)
returns setof starflow.workflow_definitions
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select d.* from starflow.workflow_definitions d where d.id = read_definition.definition_id;
end $$;
comment on function starflow.read_definition(uuid) is 'The definition, or no row.';

-- 70_engine/read_events.sql
-- One JSON value, not rows: the REST layer of a project cuts row sets off at its max_rows without a word, and a resume that misses
-- events would repeat work.
create function starflow.read_events(run_id uuid, after_id bigint default 0, max_rows integer default null, node_id text default null)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(e) || jsonb_build_object('id', e.id::text) order by e.id), '[]')
    from (select x.* from starflow.workflow_run_events x
          where x.run_id = read_events.run_id and x.id > coalesce(after_id, 0) and (read_events.node_id is null or x.node_id = read_events.node_id)
          order by x.run_id, x.id limit max_rows) e);
end $$;
comment on function starflow.read_events(uuid, bigint, integer, text) is
  'Events of a run in their order, behind after_id, of one node where one is named, as a JSON array. Ids are texts there: they may be larger than what JavaScript counts exactly.';

-- 70_engine/read_run.sql
create function starflow.read_run(run_id uuid)
returns setof starflow.workflow_runs
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select r.* from starflow.workflow_runs r where r.id = read_run.run_id;
end $$;
comment on function starflow.read_run(uuid) is 'The run, or no row.';

-- 70_engine/read_waits.sql
create function starflow.read_waits(run_id uuid)
returns setof starflow.workflow_waits
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select w.* from starflow.workflow_waits w where w.run_id = read_waits.run_id order by w.created_at, w.node_id;
end $$;
comment on function starflow.read_waits(uuid) is 'All waits of a run.';

-- 70_engine/read_worker_job.sql
create function starflow.read_worker_job(job_id uuid)
returns setof starflow.worker_jobs
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select j.* from starflow.worker_jobs j where j.id = job_id;
end $$;
comment on function starflow.read_worker_job(uuid) is 'The job, or no row.';

-- 70_engine/record_phase_if_changed.sql
create function starflow.record_phase_if_changed(
  run_id uuid, phase text, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_open_run(
    record_phase_if_changed.run_id, record_phase_if_changed.runner_id, record_phase_if_changed.claim_attempts);
begin
  if v_run.phase is not distinct from record_phase_if_changed.phase then
    return;
  end if;
  update starflow.workflow_runs r set phase = record_phase_if_changed.phase where r.id = record_phase_if_changed.run_id;
  perform starflow._append_event(record_phase_if_changed.run_id, 'phase', null, jsonb_build_object('phase', record_phase_if_changed.phase));
end $$;
comment on function starflow.record_phase_if_changed(uuid, text, text, integer) is 'phase { phase }, unless it is the run''s last phase already.';

-- 70_engine/refresh_lease.sql
create function starflow.refresh_lease(run_id uuid, ttl_ms bigint, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(refresh_lease.run_id);
begin
  perform starflow._check_claim(v_run, refresh_lease.runner_id, refresh_lease.claim_attempts);
  if v_run.leased_by is null then
    perform pgflow._raise('SF801', format('Run %s has no lease to refresh.', v_run.id),
      format('It is %s (%s), and nobody holds it.', v_run.status, v_run.claim_state), 'Write the lease first.');
  end if;
  update starflow.workflow_runs r set lease_until = pgflow.clock() + starflow._milliseconds(ttl_ms), last_heartbeat = pgflow.clock()
  where r.id = refresh_lease.run_id;
end $$;
comment on function starflow.refresh_lease(uuid, bigint, text, integer) is 'Extends one lease from now. A runner extends all of its leases with heartbeat.';

-- 70_engine/release_run.sql
create function starflow.release_run(
  run_id uuid, delay_ms bigint default 0, reason text default null, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(release_run.run_id);
begin
  if starflow._is_spent(v_run, release_run.runner_id, release_run.claim_attempts)
    or (v_run.claim_state = 'queued' and release_run.runner_id is null)
  then
    return;
  end if;
  perform starflow._check_claim(v_run, release_run.runner_id, release_run.claim_attempts);
  perform starflow._refuse_end(v_run);
  -- Whatever else it waits for: a wait that is over already lets the run go on at once.
  perform starflow._queue_run(v_run, case when v_run.status = 'paused' and starflow._has_wait_over(v_run) then 0 else delay_ms end);
  perform starflow._append_event(release_run.run_id, 'run_released', null, jsonb_build_object('reason', release_run.reason));
end $$;
comment on function starflow.release_run(uuid, bigint, text, text, integer) is
  'Gives the run back to the queue, to be claimed after the delay; a paused one whose wait is over already at once. The claim is spent. Again: no effect.';

-- 70_engine/remove_runner.sql
create function starflow.remove_runner(runner_id text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from starflow.workflow_runners w where w.runner_id = remove_runner.runner_id;
end $$;
comment on function starflow.remove_runner(text) is 'The runner is gone. What it may still hold is found by the sweep.';

-- 70_engine/resume_wait.sql
create function starflow.resume_wait(run_id uuid, node_id text, payload jsonb)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs;
  v_wait starflow.workflow_waits;
begin
  select * into v_run from starflow.workflow_runs r where r.id = resume_wait.run_id for no key update;
  if v_run.id is null then
    return 'not_found';
  end if;
  select * into v_wait from starflow.workflow_waits w where w.run_id = resume_wait.run_id and w.node_id = resume_wait.node_id;
  if v_wait.run_id is null and not starflow._has_wait(v_run.definition_id, resume_wait.node_id) then
    return 'no_wait';
  end if;
  if starflow._has_ended(v_run.status) then
    return 'run_ended';
  end if;
  if v_wait.run_id is null then
    insert into starflow.workflow_waits (run_id, node_id, status, payload_json, created_at)
    values (resume_wait.run_id, resume_wait.node_id, 'early', coalesce(payload, 'null'), pgflow.clock());
    return 'early';
  end if;
  if v_wait.status <> 'open' then
    return case v_wait.status when 'timed_out' then 'timed_out' else 'already_resumed' end;
  end if;
  if v_wait.due_at <= pgflow.clock() then
    update starflow.workflow_waits w set status = 'timed_out', ended_at = pgflow.clock()
    where w.run_id = resume_wait.run_id and w.node_id = resume_wait.node_id;
  else
    update starflow.workflow_waits w set status = 'resumed', payload_json = coalesce(payload, 'null'), ended_at = pgflow.clock()
    where w.run_id = resume_wait.run_id and w.node_id = resume_wait.node_id;
  end if;
  perform starflow._wait_is_over(v_run);
  return case when v_wait.due_at <= pgflow.clock() then 'timed_out' else 'accepted' end;
end $$;
comment on function starflow.resume_wait(uuid, text, jsonb) is
  'Stores the payload, once per wait, and queues the paused run. Returns accepted, early (kept until the wait opens), already_resumed, timed_out, run_ended, no_wait (its flow has no such wait; nothing is kept) or not_found.';

-- 70_engine/retry_run.sql
create function starflow.retry_run(run_id uuid)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(retry_run.run_id);
begin
  if v_run.status not in ('error', 'cancelled') then
    return false;
  end if;
  -- A payload that came in stays: somebody has given it.
  delete from starflow.workflow_waits w where w.run_id = retry_run.run_id and w.status in ('open', 'timed_out');
  update starflow.workflow_runs r set
    status = 'queued', claim_state = 'queued', claim_state_at = pgflow.clock(), leased_by = null, lease_until = null,
    queued_at = pgflow.clock(), available_at = pgflow.clock(), error = null, completed_at = null, cancelled_at = null, duration_ms = null
  where r.id = retry_run.run_id;
  perform starflow._append_event(retry_run.run_id, 'run_retried', null, null);
  perform starflow._wake_runners(v_run.runner_pool);
  return true;
end $$;
comment on function starflow.retry_run(uuid) is
  'Queues a failed or cancelled run again: completed nodes keep their output, the others start afresh. False for any other run.';

-- 70_engine/save_checkpoint.sql
create function starflow.save_checkpoint(
  run_id uuid, checkpoint jsonb, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(save_checkpoint.run_id, save_checkpoint.runner_id, save_checkpoint.claim_attempts);
  update starflow.workflow_runs r set checkpoint_json = checkpoint where r.id = save_checkpoint.run_id;
end $$;
comment on function starflow.save_checkpoint(uuid, jsonb, text, integer) is
  'Keeps what is needed of a run while it is paused.';

-- 70_engine/save_definition.sql
create function starflow.save_definition(flow_slug text, shape_hash text, shape jsonb)
returns setof starflow.workflow_definitions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into starflow.workflow_definitions as d (flow_slug, shape_hash, shape, created_at)
  values (save_definition.flow_slug, save_definition.shape_hash, save_definition.shape, pgflow.clock())
  on conflict on constraint workflow_definitions_flow_slug_shape_hash_key do nothing;
  return query
    select d.* from starflow.workflow_definitions d
    where d.flow_slug = save_definition.flow_slug and d.shape_hash = save_definition.shape_hash;
end $$;
comment on function starflow.save_definition(text, text, jsonb) is 'The definition of this flow and shape, as it is kept; inserted the first time.';

-- 70_engine/session_get.sql
create function starflow.session_get(session_id text, key text)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select v.value_json from starflow.workflow_session_vars v
    where v.session_id = session_get.session_id and v.key = session_get.key and (v.keep_until is null or v.keep_until > pgflow.clock()));
end $$;
comment on function starflow.session_get(text, text) is 'The value of a session variable; null when there is none or it has expired.';

-- 70_engine/session_set.sql
-- Locks the run, then one variable: two runs that write the same one wait for each other there and nowhere else.
create function starflow.session_set(
  session_id text, key text, value jsonb, run_id uuid, keep_for_ms bigint default null, runner_id text default null,
  claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._lock_open_run(session_set.run_id, session_set.runner_id, session_set.claim_attempts);
  insert into starflow.workflow_session_vars as v (session_id, key, value_json, run_id, keep_until, updated_at)
  values (session_set.session_id, session_set.key, coalesce(session_set.value, 'null'), session_set.run_id,
          pgflow.clock() + starflow._milliseconds(keep_for_ms), pgflow.clock())
  on conflict on constraint workflow_session_vars_pkey do update set
    value_json = excluded.value_json, run_id = excluded.run_id, keep_until = excluded.keep_until, updated_at = excluded.updated_at;
end $$;
comment on function starflow.session_set(text, text, jsonb, uuid, bigint, text, integer) is
  'Writes a session variable. With keep_for_ms it is kept for so long, whatever becomes of the run; without, until the run that wrote it last ends.';

-- 70_engine/write_lease.sql
create function starflow.write_lease(run_id uuid, runner_id text, ttl_ms bigint, claim_attempts integer default null)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs := starflow._lock_run(write_lease.run_id);
  v_attempts integer;
begin
  if write_lease.claim_attempts is not null then
    perform starflow._check_claim(v_run, write_lease.runner_id, write_lease.claim_attempts);
  elsif v_run.leased_by is distinct from write_lease.runner_id then
    perform starflow._check_claim(v_run, null, null);
  end if;
  perform starflow._refuse_end(v_run);
  update starflow.workflow_runs r set
    -- A run out of the queue is claimed until on_run_start.
    claim_state = case when r.claim_state in ('queued', 'claimed') then 'claimed' else 'running' end,
    claim_state_at = case when r.claim_state in ('claimed', 'running') then r.claim_state_at else pgflow.clock() end,
    claim_attempts = r.claim_attempts + (r.leased_by is null)::integer,
    leased_by = write_lease.runner_id, lease_until = pgflow.clock() + starflow._milliseconds(ttl_ms), last_heartbeat = pgflow.clock()
  where r.id = write_lease.run_id
  returning r.claim_attempts into v_attempts;
  return v_attempts;
end $$;
comment on function starflow.write_lease(uuid, text, bigint, integer) is
  'Gives a run that nobody holds its lease, outside the queue. Returns the claim_attempts that, with the runner, fence it from now on; again for the same runner: the same.';

-- 75_server/00_types.sql
-- A run in queue placement with whose it is; null: nobody's, it was started in SQL. Not found: where a look ended, no run of the list.
create type starflow.queue_run as (
  run_id uuid, flow_slug text, workspace_id text, env text, status text, started_at timestamptz, ended_at timestamptz, error text,
  is_found boolean
);
-- What happened to a run in queue placement. The tables keep states, not a log: this is what can be read off them.
create type starflow.queue_run_event as (
  happened_at timestamptz, event_type text, node_id text, attempt integer, payload jsonb
);
-- A figure for monitoring, under the name that docs/operations/metrics.md explains.
create type starflow.metric_sample as (metric text, labels jsonb, value double precision);
-- An attempt of a task, how it ended (running: it has not) and by whom it was made.
create type starflow.queue_run_attempt as (
  task_index integer, attempt integer, outcome text, worker_id uuid, function_name text, started_at timestamptz, ended_at timestamptz,
  error_name text, error_message text, error_stack text
);
-- Something that is wrong now, as a rule of alerts sees it. facts: counts, instants and identifiers.
create type starflow.observed_problem as (rule text, subject text, facts jsonb);
-- A problem that has just been opened or resolved.
create type starflow.problem_change as (problem_id uuid, rule text, subject text, change text, facts jsonb);

-- 75_server/01_tables.sql
-- What the server keeps beside runs: which database this is, who may ask, and whose the runs in queue placement are.

create table starflow.database_identity (
  is_only boolean not null default true,
  database_id uuid not null default gen_random_uuid(),
  constraint database_identity_pkey primary key (is_only),
  constraint database_identity_is_one_row check (is_only)
);
insert into starflow.database_identity default values;
comment on table starflow.database_identity is 'One row: an id that processes show, so that two on different databases are noticed.';

create table starflow.api_tokens (
  token_id text not null,
  workspace_id text not null,
  name text not null,
  secret_hash text not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  constraint api_tokens_pkey primary key (token_id),
  constraint api_tokens_workspace_is_named check (workspace_id <> ''),
  constraint api_tokens_secret_hash_is_sha256 check (secret_hash ~ '^[0-9a-f]{64}$')
);
create index api_tokens_workspace_idx on starflow.api_tokens (workspace_id, created_at);
comment on table starflow.api_tokens is 'Tokens of workspaces. Of the secret only its SHA-256 is kept: it is random and long, so that a slow hash would add nothing.';

create table starflow.ended_sessions (
  session_id text not null,
  kept_until timestamptz not null,
  constraint ended_sessions_pkey primary key (session_id)
);
comment on table starflow.ended_sessions is 'Sign-ins that were signed out of, for as long as their cookie could be good.';

-- Beside pgflow.runs and not on it: runs that are started in SQL have no workspace, and a hot table gets no column that few
-- of its rows use. The key stands here because pgflow.runs knows one per flow, and two workspaces may choose the same.
create table starflow.queue_runs (
  run_id uuid not null,
  workspace_id text not null,
  env text not null,
  flow_slug text not null,
  idempotency_key text,
  -- As in pgflow.runs, where it does not change: so that a workspace's runs are listed in the order in which all are.
  started_at timestamptz not null,
  constraint queue_runs_pkey primary key (run_id),
  -- Deferred: the row is written first, so that of two starts with one key the second waits and then finds it.
  constraint queue_runs_run_id_fkey foreign key (run_id) references pgflow.runs (run_id) on delete cascade deferrable initially deferred
);
create index queue_runs_workspace_idx on starflow.queue_runs (workspace_id, started_at, run_id);
create unique index queue_runs_idempotency_key on starflow.queue_runs (workspace_id, env, idempotency_key) where idempotency_key is not null;
comment on table starflow.queue_runs is 'Whose a run in queue placement is. The server writes it with the start; a run without a row was started in SQL, and only an operator who asks for every workspace sees it.';

-- Until which instant a schedule has fired. Written when it fires, not on each look.
create table starflow.trigger_schedules (
  workspace_id text not null,
  trigger_name text not null,
  fired_until timestamptz not null,
  constraint trigger_schedules_pkey primary key (workspace_id, trigger_name)
);
comment on table starflow.trigger_schedules is 'Schedules of the server, and until which instant each has fired: what lies behind it is due, or was missed.';

-- A firing is there once, however many processes see that it is due. It is written before its run is started and says all of
-- that start, so that any process can do it when the one that wrote it is gone.
create table starflow.trigger_firings (
  workspace_id text not null,
  kind text not null,
  trigger_name text not null,
  occurrence text not null,
  scheduled_at timestamptz,
  start jsonb not null,
  status text not null,
  run_id uuid,
  refused_code text,
  recorded_at timestamptz not null,
  settled_at timestamptz,
  constraint trigger_firings_pkey primary key (workspace_id, kind, trigger_name, occurrence),
  constraint trigger_firings_kind_is_known check (kind in ('schedule', 'webhook')),
  constraint trigger_firings_status_is_known check (status in ('recorded', 'started', 'skipped', 'refused')),
  constraint trigger_firings_schedule_has_an_instant check ((kind = 'schedule') = (scheduled_at is not null)),
  constraint trigger_firings_started_has_a_run check ((status = 'started') = (run_id is not null)),
  constraint trigger_firings_recorded_is_open check ((status = 'recorded') = (settled_at is null))
);
create unique index trigger_firings_scheduled_at_key on starflow.trigger_firings (workspace_id, trigger_name, scheduled_at) where kind = 'schedule';
create index trigger_firings_unstarted_idx on starflow.trigger_firings (workspace_id, recorded_at) where status = 'recorded';
create index trigger_firings_settled_idx on starflow.trigger_firings (settled_at) where settled_at is not null;
comment on table starflow.trigger_firings is 'What schedules and webhooks have fired: one row per scheduled instant or delivery, with the run that it started.';

-- A problem is there once, however many edges see it. It is opened when its grace is over, and stays after it was resolved.
create table starflow.alert_problems (
  problem_id uuid not null default pgflow.new_run_id(),
  rule text not null,
  subject text not null,
  facts jsonb not null,
  seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  opened_at timestamptz,
  resolved_at timestamptz,
  constraint alert_problems_pkey primary key (problem_id),
  constraint alert_problems_resolved_was_opened check (resolved_at is null or opened_at is not null)
);
create unique index alert_problems_unresolved_key on starflow.alert_problems (rule, subject) where resolved_at is null;
create index alert_problems_resolved_idx on starflow.alert_problems (resolved_at) where resolved_at is not null;
comment on table starflow.alert_problems is 'What alerts have found wrong: one row from when it was first seen until it is resolved. opened_at null: it may still pass within its grace.';

-- What a webhook is told at once, and how far that has come. Its id is that of the request, so that a receiver knows a repetition.
create table starflow.alert_messages (
  message_id uuid not null default pgflow.new_run_id(),
  webhook text not null,
  problems jsonb not null,
  created_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  settled_at timestamptz,
  outcome text,
  constraint alert_messages_pkey primary key (message_id),
  constraint alert_messages_outcome_is_known check (outcome in ('sent', 'given_up')),
  constraint alert_messages_settled_has_an_outcome check ((settled_at is null) = (outcome is null)),
  constraint alert_messages_open_has_a_next_attempt check ((settled_at is null) = (next_attempt_at is not null))
);
create index alert_messages_open_idx on starflow.alert_messages (next_attempt_at) where settled_at is null;
create index alert_messages_webhook_idx on starflow.alert_messages (webhook, created_at);
comment on table starflow.alert_messages is 'Messages of alerts, each with the problems it tells of as they were when it was written.';

-- Each change is told to each webhook once: that is its key.
create table starflow.alert_notices (
  problem_id uuid not null,
  change text not null,
  webhook text not null,
  message_id uuid,
  constraint alert_notices_pkey primary key (problem_id, change, webhook),
  constraint alert_notices_change_is_known check (change in ('opened', 'resolved')),
  constraint alert_notices_problem_id_fkey foreign key (problem_id) references starflow.alert_problems (problem_id) on delete cascade
);
create index alert_notices_untold_idx on starflow.alert_notices (webhook) where message_id is null;
comment on table starflow.alert_notices is 'Who is to be told of which change of a problem, and in which message it was told.';
-- One row per queue and minute: what a dashboard draws. Counted by sample_queues, which pg_cron calls.
create table starflow.queue_samples (
  queue_name text not null,
  sampled_at timestamptz not null,
  depth integer not null,
  in_flight integer not null,
  oldest_seconds real,
  live_workers integer not null,
  archived_count bigint not null,
  done integer,
  done_seconds real,
  constraint queue_samples_pkey primary key (queue_name, sampled_at),
  constraint queue_samples_done_has_a_duration check ((done is null) = (done_seconds is null))
);
-- For the deletion of what is a week old: rows lie in the order of their time.
create index queue_samples_sampled_at_idx on starflow.queue_samples using brin (sampled_at) with (pages_per_range = 16);
comment on table starflow.queue_samples is 'The queues once a minute, for a week: how full they were, who served them, and how much was done since the sample before.';
comment on column starflow.queue_samples.depth is 'Messages, counted up to 10 000.';
comment on column starflow.queue_samples.in_flight is 'Messages that a worker has taken and not settled, among the oldest 10 000.';
comment on column starflow.queue_samples.archived_count is 'Messages that were ever archived, as Postgres counts them.';
comment on column starflow.queue_samples.done is 'Messages archived since the sample before, done_seconds ago; null of the first one, and after the counters of Postgres were reset.';

-- 75_server/_attempts_of_tasks.sql
-- The attempts of some tasks of a step, those that have ended otherwise than completed and the last one of each task, in order. A task that
-- was queued again has its last attempt among the former.
create function starflow._attempts_of_tasks(p_run_id uuid, p_step_slug text, p_first_index integer, p_last_index integer)
returns setof starflow.queue_run_attempt
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select a.task_index, a.attempt, a.reason, a.worker_id, w.function_name, a.started_at, a.ended_at, a.error_name, a.error_message, left(a.error_stack, 16384)
  from pgflow.task_attempts a
  left join pgflow.workers w on w.worker_id = a.worker_id
  where a.run_id = p_run_id and a.step_slug = p_step_slug and a.task_index between p_first_index and p_last_index
  union all
  select t.task_index, t.attempts_count, case t.status when 'started' then 'running' else 'completed' end, t.last_worker_id, w.function_name,
         t.started_at, t.completed_at, null, null, null
  from pgflow.step_tasks t
  left join pgflow.workers w on w.worker_id = t.last_worker_id
  where t.run_id = p_run_id and t.step_slug = p_step_slug and t.task_index between p_first_index and p_last_index
    and t.status in ('started', 'completed') and t.started_at is not null
  order by 1, 2
$$;

-- 75_server/_count.sql
-- What a counter has counted. Null for a sequence that was never used.
create function starflow._count(p_sequence regclass)
returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(pg_sequence_last_value(p_sequence), 0)
$$;

-- 75_server/_json_size.sql
-- How long a value is as JSON text. Of a large one as it is stored: to write it out only to measure it would cost more than that tells.
create function starflow._json_size(p_value jsonb)
returns integer
language sql immutable
return case when pg_column_size(p_value) > 65536 then pg_column_size(p_value) else octet_length(p_value::text) end;

-- 75_server/_next_due_at.sql
-- When the next of a step's queued tasks may begin: after a start delay or the delay of a retry. Looks at the first hundred of them.
-- Null: none is queued.
create function starflow._next_due_at(p_run_id uuid, p_step_slug text)
returns timestamptz
language plpgsql stable
as $$
begin
  return (
    select min(coalesce(t.due_at, t.queued_at))
    from (select x.due_at, x.queued_at from pgflow.step_tasks x
          where x.run_id = p_run_id and x.step_slug = p_step_slug and x.status = 'queued'
          order by x.task_index limit 100) t);
end $$;

-- 75_server/_observed_problems.sql
-- What the rules see now. Cheap enough for every ten seconds: what failed, stalled or was lost lately is in indexes of its own.
create function starflow._observed_problems(p_rules jsonb)
returns setof starflow.observed_problem
language plpgsql stable
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_rule jsonb;
  v_since timestamptz;
begin
  v_rule := p_rules -> 'failedRuns';
  if v_rule is not null then
    v_since := v_now - starflow._milliseconds((v_rule ->> 'withinMs')::bigint);
    return query
      select 'failedRuns', f.flow_slug,
             jsonb_build_object('runs', count(*), 'runIds', (array_agg(f.run_id order by f.failed_at desc))[1:5])
      from (
        select r.flow_slug, r.run_id, r.failed_at from pgflow.runs r where r.status = 'failed' and r.failed_at > v_since
        union all
        select r.template_id, r.id, r.completed_at from starflow.workflow_runs r where r.status = 'error' and r.completed_at > v_since
      ) f
      where v_rule -> 'flows' is null or v_rule -> 'flows' ? f.flow_slug
      group by f.flow_slug
      having count(*) >= (v_rule ->> 'atLeast')::bigint;
  end if;

  if p_rules -> 'uncoveredQueues' is not null then
    return query
      select 'uncoveredQueues', c.queue_name,
             jsonb_build_object(
               'messages', max(c.depth), 'oldestSeconds', max(floor(extract(epoch from c.oldest_age))),
               'reason', case when max(c.depth) is null then 'queue_gone' when bool_and(c.fenced) then 'fenced' else 'no_live_worker' end,
               'steps', array_agg(c.flow_slug || '.' || c.step_slug order by c.flow_slug, c.step_index))
      from pgflow.queue_coverage c
      where c.depth is null or (c.depth > 0 and (c.live_workers = 0 or c.fenced))
      group by c.queue_name;
  end if;

  v_rule := p_rules -> 'stalls';
  if v_rule is not null then
    v_since := v_now - starflow._milliseconds((v_rule ->> 'withinMs')::bigint);
    return query
      select 'stalls', s.flow_slug,
             jsonb_build_object('stalledTasks', count(*) filter (where s.is_task), 'lostRunners', count(*) filter (where not s.is_task),
                                'runIds', (array_agg(s.run_id order by s.happened_at desc))[1:5])
      from (
        select r.flow_slug, r.run_id, a.ended_at as happened_at, true as is_task
        from pgflow.task_attempts a join pgflow.runs r on r.run_id = a.run_id
        where a.reason = 'stalled' and a.ended_at > v_since
        union all
        select r.template_id, r.id, e.created_at, false
        from starflow.workflow_run_events e join starflow.workflow_runs r on r.id = e.run_id
        where e.event_type = 'runner_lost' and e.created_at > v_since
      ) s
      group by s.flow_slug
      having count(*) >= (v_rule ->> 'atLeast')::bigint;
  end if;

  v_rule := p_rules -> 'outboxLag';
  if v_rule is not null and starflow._is_mirrored() then
    return query
      select 'outboxLag', 'warm tier', jsonb_build_object('changes', l.overdue, 'oldestSeconds', l.oldest_ms / 1000)
      from starflow.outbox_lag(page_ms => (v_rule ->> 'pageMs')::bigint) l
      where l.overdue > 0;
  end if;

  if p_rules -> 'unservedRuns' is not null then
    return query
      select 'unservedRuns', coalesce(u.runner_pool, 'no pool'),
             jsonb_build_object('runs', count(*), 'reason', min(u.reason), 'runIds', (array_agg(u.run_id order by u.queued_at))[1:5])
      from starflow.list_unserved_runs(max_rows => 1000) u
      group by u.runner_pool;
  end if;
end $$;

-- 75_server/_queue_event_rank.sql
-- Of what happened at one instant, what comes first.
create function starflow._queue_event_rank(p_event_type text)
returns integer
language sql immutable
return array_position(
  '{run_started,node_start,node_retry,node_complete,node_error,node_skip,run_completed,run_failed,run_cancelled}'::text[], p_event_type);

-- 75_server/_queue_metrics.sql
-- Of each queue that a route leads to, or a worker function serves. Uncovered: nothing would claim from it now.
create function starflow._queue_metrics()
returns setof starflow.metric_sample
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with measured as materialized (
    select q.queue_name, m.*
    -- In the order in which a deletion drops them: else each could wait for a queue that the other has. Materialized, so that
    -- no join comes in between.
    from (select queue_name from pgflow._routes union select queue_name from pgflow.worker_function_queues order by queue_name) q
    cross join lateral pgflow._queue_measures(q.queue_name) m
  ), live as (
    select lower(w.queue_name collate "C") as queue_name, count(*) as workers from pgflow.workers w
    where w.stopped_at is null and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w) group by 1
  ), fenced as (
    select f.queue_name, not bool_or(f.enabled) as is_fenced from pgflow._queue_functions f group by f.queue_name
  ), queue as (
    select q.*, coalesce(l.workers, 0) as live_workers, coalesce(f.is_fenced, false) as is_fenced
    from measured q
    left join live l on l.queue_name = lower(q.queue_name collate "C")
    left join fenced f on f.queue_name = q.queue_name
  )
  select x.metric, jsonb_build_object('queue', q.queue_name), x.value
  from queue q
  cross join lateral (values
    ('starflow_queue_depth', q.depth::double precision),
    ('starflow_queue_in_flight', q.in_flight),
    ('starflow_queue_oldest_age_seconds', case when q.depth is not null then coalesce(extract(epoch from q.oldest_age), 0) end),
    ('starflow_queue_sent_total', q.sent_count),
    ('starflow_queue_archived_total', q.archived_count),
    ('starflow_queue_live_workers', q.live_workers),
    ('starflow_queue_uncovered', (q.depth is null or q.is_fenced or q.live_workers = 0)::integer)
  ) x (metric, value)
  where x.value is not null
$$;

-- 75_server/_run_metrics.sql
-- Of runs and what they wait for, in both placements. What is open is counted up to 10 000, along indexes that hold only that.
create function starflow._run_metrics()
returns setof starflow.metric_sample
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  return query
    select 'starflow_runs_open', jsonb_build_object('placement', 'queue', 'status', 'running'), count(*)::double precision
    from (select from pgflow.runs r where r.status = 'started' limit 10000) x;
  return query
    select 'starflow_runs_open', jsonb_build_object('placement', 'runner', 'status', s.status), s.runs::double precision
    from (values
      ('queued', (select count(*) from (select from starflow.workflow_runs r where r.claim_state = 'queued' and r.status = 'queued' limit 10000) x)),
      ('running', (select count(*) from (select from starflow.workflow_runs r where r.lease_until is not null and r.status = 'running' limit 10000) x)),
      ('paused', (select count(distinct x.run_id) from (select w.run_id from starflow.workflow_waits w where w.status = 'open' limit 10000) x))
    ) s (status, runs);
  return query
    select 'starflow_open_waits', jsonb_build_object('placement', w.placement), w.waits::double precision
    from (values
      ('queue', (select count(*) from (select from pgflow.waits w where w.opened_at is not null limit 10000) x)),
      ('runner', (select count(*) from (select from starflow.workflow_waits w where w.status = 'open' limit 10000) x))
    ) w (placement, waits);

  return query
    select x.metric, jsonb_build_object('pool', p.pool), x.value
    from (
      select coalesce(q.runner_pool, '') as pool, count(*) as depth, extract(epoch from v_now - min(greatest(q.queued_at, q.available_at))) as oldest_age
      from (select r.runner_pool, r.queued_at, r.available_at from starflow.workflow_runs r
            where r.claim_state = 'queued' and r.available_at <= v_now limit 10000) q
      group by 1
    ) p
    cross join lateral (values
      ('starflow_runner_queue_depth', p.depth::double precision), ('starflow_runner_queue_oldest_age_seconds', greatest(p.oldest_age, 0))) x (metric, value);
  return query
    select 'starflow_runner_queue_unserved', jsonb_build_object('pool', coalesce(u.runner_pool, '')), count(*)::double precision
    from starflow.list_unserved_runs(max_rows => 1000) u group by u.runner_pool;
  return query
    select 'starflow_live_runners', jsonb_build_object('pool', coalesce(w.runner_pool, '')), count(*)::double precision
    from starflow.workflow_runners w where w.live_until > v_now group by w.runner_pool;
  return query
    select x.metric, '{}'::jsonb, x.value
    from (select count(*)::double precision as held, count(*) filter (where r.lease_until < v_now)::double precision as overdue
          from starflow.workflow_runs r where r.lease_until is not null) l
    cross join lateral (values ('starflow_leases_held', l.held), ('starflow_leases_overdue', l.overdue)) x (metric, value);

  return query
    select 'starflow_worker_jobs', jsonb_build_object('kind', j.kind, 'status', j.status), count(*)::double precision
    from (select q.kind, 'queued' as status from starflow.worker_jobs q where q.status = 'queued'
          union all select l.kind, 'leased' from starflow.worker_jobs l where l.lease_until is not null) j
    group by j.kind, j.status;
  return query
    select 'starflow_worker_jobs_oldest_age_seconds', jsonb_build_object('kind', j.kind),
           greatest(extract(epoch from v_now - min(j.created_at)), 0)::double precision
    from starflow.worker_jobs j where j.status = 'queued' group by j.kind;
end $$;

-- 75_server/_write_alert_messages.sql
-- One message for each webhook that has something to be told and was not told anything within p_group_ms. A problem that was opened and
-- resolved since is told once, as resolved. The caller holds the lock of look_for_problems.
create function starflow._write_alert_messages(p_webhooks text[], p_group_ms bigint)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_webhook text;
  v_problem_ids uuid[];
  v_message_id uuid;
begin
  foreach v_webhook in array p_webhooks loop
    continue when exists (
      select from starflow.alert_messages m where m.webhook = v_webhook and m.created_at > v_now - starflow._milliseconds(p_group_ms));
    v_problem_ids := array(
      select distinct n.problem_id from starflow.alert_notices n where n.webhook = v_webhook and n.message_id is null order by n.problem_id limit 100);
    continue when cardinality(v_problem_ids) = 0;
    insert into starflow.alert_messages as m (webhook, problems, created_at, next_attempt_at)
    select v_webhook,
           jsonb_agg(jsonb_build_object(
             'problemId', p.problem_id, 'rule', p.rule, 'subject', p.subject, 'facts', p.facts,
             'openedAt', p.opened_at, 'resolvedAt', case when n.is_resolved then p.resolved_at end) order by p.problem_id),
           v_now, v_now
    from (select u.problem_id, bool_or(u.change = 'resolved') as is_resolved from starflow.alert_notices u
          where u.webhook = v_webhook and u.message_id is null and u.problem_id = any (v_problem_ids) group by u.problem_id) n
    join starflow.alert_problems p on p.problem_id = n.problem_id
    returning m.message_id into v_message_id;
    update starflow.alert_notices n set message_id = v_message_id
    where n.webhook = v_webhook and n.message_id is null and n.problem_id = any (v_problem_ids);
  end loop;
end $$;

-- 75_server/advance_schedule.sql
create function starflow.advance_schedule(workspace_id text, trigger_name text, fired_until timestamptz)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  update starflow.trigger_schedules s set fired_until = advance_schedule.fired_until
  where s.workspace_id = advance_schedule.workspace_id and s.trigger_name = advance_schedule.trigger_name
    and s.fired_until < advance_schedule.fired_until
$$;
comment on function starflow.advance_schedule(text, text, timestamptz) is
  'Whatever a schedule had up to this instant has fired, or never will. It never goes back.';

-- 75_server/audit_liveness.sql
-- The promise "no open run without a next actor" over both placements. On runners: a paused run waits for an open wait, or for one that has
-- ended and will be swept; a claimed one is held by a lease, or is swept within 60 s.
create function starflow.audit_liveness(workspace_id text default null, max_rows integer default 100)
returns table (placement text, kind text, flow_slug text, run_id uuid, step_slug text, task_index integer, reason text)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select 'queue', a.kind, a.flow_slug, a.run_id, a.step_slug, a.task_index, a.reason
    from pgflow.liveness_audit a left join starflow.queue_runs q on q.run_id = a.run_id
    where audit_liveness.workspace_id is null or q.workspace_id = audit_liveness.workspace_id
    union all
    select 'runner', 'run', r.template_id, r.id, null, null,
           case when r.claim_state = 'paused' then 'paused, but none of its waits is open'
                else 'held by nobody, and not found by a sweep: does a runner or a server run?' end
    from starflow.workflow_runs r
    where r.status in ('queued', 'running', 'paused') and (audit_liveness.workspace_id is null or r.workspace_id = audit_liveness.workspace_id)
      and ((r.claim_state = 'paused' and not exists (select from starflow.workflow_waits w where w.run_id = r.id and w.status = 'open'))
        or (r.claim_state in ('claimed', 'running') and coalesce(r.lease_until, r.claim_state_at + interval '30 seconds') < pgflow.clock() - interval '60 seconds'))
    limit max_rows;
end $$;
comment on function starflow.audit_liveness(text, integer) is
  'Every open run, step or task without a next actor, in both placements, with the reason; of one workspace, or all. Empty when all is well.';

-- 75_server/create_api_token.sql
create function starflow.create_api_token(token_id text, workspace_id text, name text, secret_hash text)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into starflow.api_tokens (token_id, workspace_id, name, secret_hash, created_at)
  values (create_api_token.token_id, create_api_token.workspace_id, create_api_token.name, create_api_token.secret_hash, pgflow.clock())
$$;
comment on function starflow.create_api_token(text, text, text, text) is 'Keeps a token of a workspace: its id and the SHA-256 of its secret, in hex.';

-- 75_server/database_id.sql
create function starflow.database_id()
returns uuid
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select i.database_id from starflow.database_identity i
$$;
comment on function starflow.database_id() is 'The id of this database, made with it.';

-- 75_server/end_session.sql
create function starflow.end_session(session_id text, keep_for_ms bigint)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  delete from starflow.ended_sessions e where e.kept_until < pgflow.clock();
  insert into starflow.ended_sessions (session_id, kept_until)
  values (end_session.session_id, pgflow.clock() + starflow._milliseconds(keep_for_ms))
  on conflict do nothing;
$$;
comment on function starflow.end_session(text, bigint) is 'Ends a sign-in; that is kept for as long as its cookie could be good. Again: no effect.';

-- 75_server/find_api_token.sql
create function starflow.find_api_token(token_id text)
returns setof starflow.api_tokens
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t.* from starflow.api_tokens t where t.token_id = find_api_token.token_id and t.revoked_at is null
$$;
comment on function starflow.find_api_token(text) is 'The token of this id, unless it was revoked.';

-- 75_server/flow_schedules.sql
-- With the rights of the owner of the jobs. The input of a schedule is nobody's business here.
create function starflow.flow_schedules()
returns table (job_name text, schedule text, flow_slug text, is_active boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regclass('cron.job') is null then
    return;
  end if;
  return query
    select j.jobname::text, j.schedule, f.flow_slug, j.active
    from cron.job j
    join pgflow.flows f on starts_with(j.command, format('select pgflow.start_flow(%L,', f.flow_slug))
    where j.username = current_user and pgflow._is_flow_schedule(j.command)
    order by j.jobname;
end $$;
comment on function starflow.flow_schedules() is 'The pg_cron jobs that schedule_flow has made, without their inputs.';

-- 75_server/has_session_ended.sql
create function starflow.has_session_ended(session_id text)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from starflow.ended_sessions e where e.session_id = has_session_ended.session_id)
$$;
comment on function starflow.has_session_ended(text) is 'Whether this sign-in was signed out of.';

-- 75_server/last_firing.sql
create function starflow.last_firing(workspace_id text, trigger_name text)
returns setof starflow.trigger_firings
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.* from starflow.trigger_firings f
  where f.workspace_id = last_firing.workspace_id and f.kind = 'schedule' and f.trigger_name = last_firing.trigger_name
    and f.status in ('recorded', 'started')
  order by f.scheduled_at desc limit 1
$$;
comment on function starflow.last_firing(text, text) is 'The latest firing of a schedule that has started a run, or is about to.';

-- 75_server/list_api_tokens.sql
create function starflow.list_api_tokens(workspace_id text default null)
returns setof starflow.api_tokens
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t.* from starflow.api_tokens t
  where list_api_tokens.workspace_id is null or t.workspace_id = list_api_tokens.workspace_id
  order by t.workspace_id, t.created_at, t.token_id
$$;
comment on function starflow.list_api_tokens(text) is 'The tokens of a workspace, or all of them.';

-- 75_server/list_functions.sql
-- Lives: workers that were started within the last hour. tasks_per_life: what the queues of the function have done since then, shared among them;
-- null where another function serves one of these queues too. cpu_ms_per_task: over the isolates and processes of these lives, and of workers that
-- live on since before; each counts once, however many workers live in it. null where none of them was measured, or none had a task.
create function starflow.list_functions()
returns table (
  function_name text, start_mode text, enabled boolean, enabled_before_fence boolean, fenced_by text, fenced_at timestamptz, disabled_reason text,
  queue_names text[], live_workers integer, last_invoked_at timestamptz, failed_starts integer, last_error text, last_error_at timestamptz,
  lives integer, tasks_per_life double precision, measured_workers integer, cpu_ms_per_task double precision)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select f.function_name, f.start_mode, f.enabled, f.enabled_before_fence, f.fenced_by, f.fenced_at, f.disabled_reason, coalesce(q.queue_names, '{}'),
           (select count(*)::integer from pgflow.workers w where w.function_name = f.function_name and w.stopped_at is null
              and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)),
           f.last_invoked_at, f.failed_starts, left(f.last_error, 2000), f.last_error_at, l.lives,
           case when l.lives > 0 and not coalesce(q.is_shared, true) then d.done::double precision / l.lives end,
           c.workers, c.cpu_ms_per_task
    from pgflow.worker_functions f
    left join lateral (
      select array_agg(x.queue_name order by x.queue_name) as queue_names,
             bool_or(exists (select from pgflow.worker_function_queues o where o.queue_name = x.queue_name and o.function_name <> f.function_name)) as is_shared
      from pgflow.worker_function_queues x where x.function_name = f.function_name) q on true
    cross join lateral (
      select count(*)::integer as lives from pgflow.workers w
      where w.function_name = f.function_name and w.started_at > pgflow.clock() - interval '1 hour') l
    left join lateral (
      select sum(s.done) as done from starflow.queue_samples s
      where s.queue_name = any (q.queue_names) and s.sampled_at > pgflow.clock() - interval '1 hour') d on true
    cross join lateral (
      select coalesce(sum(u.worker_count), 0)::integer as workers, sum(u.cpu_ms)::double precision / nullif(sum(u.tasks_count), 0) as cpu_ms_per_task
      from (select distinct coalesce(w.execution_id, w.worker_id) as execution_id from pgflow.workers w
            where w.function_name = f.function_name and (w.started_at > pgflow.clock() - interval '1 hour' or (w.stopped_at is null and pgflow._heartbeat_is_fresh(w)))) x
      cross join lateral pgflow._execution_usage(x.execution_id) u
      where u.cpu_ms is not null and u.tasks_count is not null) c
    order by f.function_name;
end $$;
comment on function starflow.list_functions() is 'Worker functions with their fence, what they serve, how their starts went, how much a worker of theirs does in its life, and what a task takes of the CPU.';

-- 75_server/list_queue_runs.sql
-- In the order of an index (of all runs, or of a workspace's), read backwards from where the last page ended, however many runs there are.
-- Planned for the filters at hand, and never to sort, which means to read all runs for one page. What no index tells is looked at run by run, and no further than look_at: of a page that ends there, the
-- last row is no run of the list (is_found is false), and the next page begins behind it.
create function starflow.list_queue_runs(
  workspace_id text default null, env text default null, flow_slug text default null, statuses text[] default null, search text default null,
  first_id uuid default null, last_id uuid default null, started_from timestamptz default null, started_before timestamptz default null,
  before_started_at timestamptz default null, before_id uuid default null, max_rows integer default 50, look_at integer default null)
returns setof starflow.queue_run
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set enable_sort = off set enable_incremental_sort = off
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set max_parallel_workers_per_gather = 0 set jit = off
as $$
#variable_conflict use_column
declare
  v_run starflow.queue_run;
  v_found integer := 0;
  v_looked_at integer := 0;
  -- Statuses that have an index of their own.
  v_is_indexed boolean := list_queue_runs.statuses <@ '{failed,cancelled}' or list_queue_runs.statuses = '{started}';
begin
  -- Ids are in no order of time; few begin alike, and are sorted. The setting ends with the function.
  if first_id is not null then
    perform set_config('enable_sort', 'on', true);
  end if;
  for v_run in
    select r.run_id, r.flow_slug, q.workspace_id, q.env, r.status, r.started_at, coalesce(r.completed_at, r.failed_at, r.cancelled_at), null, true
    from pgflow.runs r
    left join starflow.queue_runs q on q.run_id = r.run_id
    where (list_queue_runs.workspace_id is null or q.workspace_id = list_queue_runs.workspace_id)
      and (first_id is null or r.run_id between first_id and last_id)
      and (started_from is null or r.started_at >= started_from)
      and (started_before is null or r.started_at < started_before)
      and (before_id is null or (r.started_at, r.run_id) < (before_started_at, before_id))
      -- Once more for the index of a workspace, which then gives the order.
      and (list_queue_runs.workspace_id is null or started_from is null or q.started_at >= started_from)
      and (list_queue_runs.workspace_id is null or started_before is null or q.started_at < started_before)
      and (list_queue_runs.workspace_id is null or before_id is null or (q.started_at, q.run_id) < (before_started_at, before_id))
      and (not coalesce(v_is_indexed, false) or r.status = any (list_queue_runs.statuses))
    order by case when list_queue_runs.workspace_id is null then r.started_at else q.started_at end desc,
             case when list_queue_runs.workspace_id is null then r.run_id else q.run_id end desc
    limit look_at
  loop
    v_looked_at := v_looked_at + 1;
    continue when v_run.env is distinct from coalesce(list_queue_runs.env, v_run.env)
      or v_run.flow_slug <> list_queue_runs.flow_slug or v_run.status <> all (list_queue_runs.statuses);
    if v_run.status = 'failed' then
      v_run.error := (select s.error_message from pgflow.step_states s
                      where s.run_id = v_run.run_id and s.status = 'failed' order by s.failed_at limit 1);
    end if;
    continue when not coalesce(
      starts_with(v_run.run_id::text, search) or strpos(lower(v_run.flow_slug collate "C"), search) > 0 or strpos(lower(v_run.error), search) > 0, search is null);
    return next v_run;
    v_found := v_found + 1;
    exit when v_found = max_rows;
  end loop;
  if v_found < max_rows and v_looked_at = look_at then
    v_run.is_found := false;
    return next v_run;
  end if;
end $$;
comment on function starflow.list_queue_runs(text, text, text, text[], text, uuid, uuid, timestamptz, timestamptz, timestamptz, uuid, integer, integer) is
  'Runs in queue placement with whose they are, the newest first; what is null is not filtered by. search (in lower case) is the beginning of an id, or part of flow slug or error. For the next page give start and id of the last row. Looks at look_at runs at most: then the last row may be one that is not found, where the next page begins.';

-- 75_server/list_queues.sql
-- Each queue once, however many routes lead there. done_per_minute: since the newest sample that is at least 50 s old.
create function starflow.list_queues()
returns table (
  queue_name text, steps text[], depth integer, in_flight integer, oldest_age interval, waiting_age interval, stalled integer,
  unsupported integer, live_workers integer, function_names text[], is_fenced boolean, fence text, done_per_minute double precision,
  parked integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    with queue as (
      select q.queue_name, array_agg(q.step order by q.flow_slug, q.step_index) filter (where q.step is not null) as steps
      from (select r.queue_name, r.flow_slug, r.step_index, r.flow_slug || '.' || r.step_slug as step from pgflow._routes r
            union all select f.queue_name, null, null, null from pgflow.worker_function_queues f) q
      group by q.queue_name
      order by q.queue_name
    ), looked_at as materialized (
      -- In the order in which a deletion drops them: else each could wait for a queue that the other has. Materialized, so that
      -- no join comes in between.
      select q.queue_name, q.steps, m.depth, m.in_flight, m.oldest_age, m.archived_count, t.waiting_age, t.stalled, t.unsupported
      from queue q
      cross join lateral pgflow._queue_measures(q.queue_name) m
      cross join lateral pgflow._queue_troubles(q.queue_name, q.steps is not null) t
    ), live as (
      select lower(w.queue_name collate "C") as queue_name, count(*)::integer as live_workers from pgflow.workers w
      where w.stopped_at is null and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w) group by 1
    ), functions as (
      select f.queue_name, array_agg(f.function_name order by f.function_name) as function_names, not bool_or(f.enabled) as is_fenced,
             string_agg(distinct f.fence, '; ') as fence
      from pgflow._queue_functions f group by f.queue_name
    )
    select q.queue_name, coalesce(q.steps, '{}'), q.depth, q.in_flight, q.oldest_age, q.waiting_age, coalesce(q.stalled, 0), q.unsupported,
           coalesce(l.live_workers, 0), coalesce(f.function_names, '{}'), coalesce(f.is_fenced, false), f.fence,
           case when q.archived_count >= s.archived_count
                then (q.archived_count - s.archived_count) * 60 / extract(epoch from clock_timestamp() - s.sampled_at)::double precision end,
           (select count(*)::integer from (select from pgflow.parked_tasks p where p.queue_name = q.queue_name limit 10000) x)
    from looked_at q
    left join live l on l.queue_name = lower(q.queue_name collate "C")
    left join functions f on f.queue_name = q.queue_name
    left join lateral (
      select x.sampled_at, x.archived_count from starflow.queue_samples x
      where x.queue_name = q.queue_name and x.sampled_at between clock_timestamp() - interval '5 minutes' and clock_timestamp() - interval '50 seconds'
      order by x.sampled_at desc limit 1) s on true
    order by q.queue_name;
end $$;
comment on function starflow.list_queues() is
  'Every queue that a route leads to, or a worker function serves: how full it is (counted up to 10 000; null: it is gone), what is wrong, who serves it, and how many tasks are parked until their time comes (counted up to 10 000).';

-- 75_server/live_marks.sql
-- One cheap look for everybody who listens: a mark of each kind of thing that changes when something of the kind does. Counters move before
-- their transaction commits, so whoever compares marks looks once more after a change. Of each run, a mark of its own.
create function starflow.live_marks(run_ids uuid[] default '{}')
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'runs', concat_ws('.',
      starflow._count('pgflow.counted_runs_started'), starflow._count('pgflow.counted_runs_completed'), starflow._count('pgflow.counted_runs_failed'),
      starflow._count('pgflow.counted_runs_cancelled'), starflow._count('pgflow.counted_claims'), starflow._count('pgflow.counted_completions'),
      starflow._count('starflow.counted_runs_started'), starflow._count('starflow.workflow_run_events_id_seq')),
    'queues', concat_ws('.',
      starflow._count('pgflow.counted_runs_started'), starflow._count('pgflow.counted_claims'), starflow._count('pgflow.counted_completions'),
      starflow._count('pgflow.counted_failures'), starflow._count('pgflow.counted_requeues'), starflow._count('pgflow.counted_runs_cancelled')),
    'workers', (select concat_ws('.', count(*), count(*) filter (where pgflow._heartbeat_is_fresh(w)), count(w.deprecated_at), max(w.started_at))
                from pgflow.workers w where w.stopped_at is null),
    'functions', (select concat_ws('.', count(*), count(*) filter (where f.enabled), count(f.fenced_by), max(f.last_error_at), sum(f.failed_starts))
                  from pgflow.worker_functions f),
    'waits', concat_ws('.',
      (select count(*) from (select from pgflow.waits w limit 10000) x),
      (select count(*) from (select from starflow.workflow_waits w where w.status = 'open' limit 10000) x),
      (select max(w.opened_at) from starflow.workflow_waits w where w.status = 'open')),
    'flows', (select concat_ws('.', count(*), max(f.compiled_at), count(f.paused_at)) from pgflow.flows f),
    'runners', concat_ws('.',
      (select concat_ws('.', count(*), count(*) filter (where r.live_until > pgflow.clock()), max(r.started_at)) from starflow.workflow_runners r),
      starflow._count('starflow.counted_claims'), starflow._count('starflow.counted_losses'),
      (select count(*) from starflow.workflow_runs r where r.lease_until is not null)),
    'run', (
      select coalesce(jsonb_object_agg(u.run_id, concat_ws('.',
        (select r.status from pgflow.runs r where r.run_id = u.run_id),
        (select concat_ws('.', count(*) filter (where t.status = 'queued'), count(*) filter (where t.status = 'started'),
                          count(*) filter (where t.status = 'completed'), count(*), sum(t.attempts_count))
         from pgflow.step_tasks t where t.run_id = u.run_id),
        (select count(*) from pgflow.step_states s where s.run_id = u.run_id and s.status in ('skipped', 'failed')),
        (select max(e.id) from starflow.workflow_run_events e where e.run_id = u.run_id))), '{}')
      from unnest(run_ids) u(run_id)));
end $$;
comment on function starflow.live_marks(uuid[]) is
  'For each kind of thing (runs, queues, workers, functions, waits, flows, runners) a text that is another one after something of the kind has changed, and one for each of these runs.';

-- 75_server/look_for_problems.sql
-- Called by each edge every few seconds; of several at the same moment one looks, and the others are done. Every change of a problem
-- is written with whom it is to be told to, so that no process that ends in between costs a message. A webhook is told at
-- once, and then what comes within group_ms together: at most 100 problems in a message, the rest in the next one.
create function starflow.look_for_problems(rules jsonb, webhooks jsonb, group_ms bigint, resolve_after_ms bigint)
returns setof starflow.problem_change
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_changes starflow.problem_change[];
begin
  if not pg_try_advisory_xact_lock(hashtextextended('starflow.look_for_problems', 0)) then
    return;
  end if;

  insert into starflow.alert_problems as p (rule, subject, facts, seen_at, last_seen_at)
  select o.rule, o.subject, o.facts, v_now, v_now from starflow._observed_problems(look_for_problems.rules) o
  on conflict (rule, subject) where resolved_at is null do update set facts = excluded.facts, last_seen_at = excluded.last_seen_at;
  -- It has passed within its grace: nobody needs to know.
  delete from starflow.alert_problems p where p.opened_at is null and p.last_seen_at < v_now;

  with opened as (
    update starflow.alert_problems p set opened_at = v_now
    where p.opened_at is null
      and p.seen_at <= v_now - starflow._milliseconds(coalesce((look_for_problems.rules -> p.rule ->> 'graceMs')::bigint, 0))
    returning p.problem_id, p.rule, p.subject, 'opened', p.facts
  ), resolved as (
    update starflow.alert_problems p set resolved_at = v_now
    where p.resolved_at is null and p.opened_at < v_now and p.last_seen_at <= v_now - starflow._milliseconds(resolve_after_ms) and p.last_seen_at < v_now
    returning p.problem_id, p.rule, p.subject, 'resolved', p.facts
  )
  select array_agg(row(c.*)::starflow.problem_change) into v_changes
  from (select * from opened union all select * from resolved) c;

  insert into starflow.alert_notices (problem_id, change, webhook)
  select c.problem_id, c.change, w.key
  from unnest(v_changes) c join jsonb_each(look_for_problems.webhooks) w on w.value ? c.rule;
  perform starflow._write_alert_messages(array(select jsonb_object_keys(look_for_problems.webhooks)), group_ms);
  return query select c.* from unnest(v_changes) c;
end $$;
comment on function starflow.look_for_problems(jsonb, jsonb, bigint, bigint) is
  'Looks for what the rules of alerts call wrong, keeps what has changed and writes the messages about it. Returns the changes that this call has found.';

-- 75_server/metrics.sql
-- Cheap enough for every few seconds: bounded passes over queues, and indexes that hold only what is open. One value, because an
-- API in front may bound the rows of an answer.
create function starflow.metrics(warn_ms bigint default 2000, page_ms bigint default 30000)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
  select jsonb_build_object(
    'samples', jsonb_agg(s),
    'lag', case when starflow._is_mirrored() then (select to_jsonb(l) from starflow.outbox_lag(metrics.warn_ms, metrics.page_ms) l) end)
  from (
    select * from starflow._queue_metrics()
    union all select * from starflow._run_metrics()
    union all
    select 'starflow_alerts_open', jsonb_build_object('rule', p.rule), count(*) from starflow.alert_problems p
    where p.resolved_at is null and p.opened_at is not null group by p.rule
    union all select c.metric, c.labels, starflow._count(c.sequence::regclass)
    from (values
      ('starflow_runs_started_total', '{"placement": "queue"}'::jsonb, 'pgflow.counted_runs_started'),
      ('starflow_runs_started_total', '{"placement": "runner"}', 'starflow.counted_runs_started'),
      ('starflow_runs_ended_total', '{"placement": "queue", "status": "success"}', 'pgflow.counted_runs_completed'),
      ('starflow_runs_ended_total', '{"placement": "queue", "status": "error"}', 'pgflow.counted_runs_failed'),
      ('starflow_runs_ended_total', '{"placement": "queue", "status": "cancelled"}', 'pgflow.counted_runs_cancelled'),
      ('starflow_runs_ended_total', '{"placement": "runner", "status": "success"}', 'starflow.counted_runs_succeeded'),
      ('starflow_runs_ended_total', '{"placement": "runner", "status": "error"}', 'starflow.counted_runs_failed'),
      ('starflow_runs_ended_total', '{"placement": "runner", "status": "cancelled"}', 'starflow.counted_runs_cancelled'),
      ('starflow_task_claims_total', '{}', 'pgflow.counted_claims'),
      ('starflow_task_settles_total', '{"outcome": "completed"}', 'pgflow.counted_completions'),
      ('starflow_task_settles_total', '{"outcome": "failed"}', 'pgflow.counted_failures'),
      ('starflow_stale_reports_total', '{}', 'pgflow.counted_refusals'),
      ('starflow_stalled_requeues_total', '{}', 'pgflow.counted_requeues'),
      ('starflow_run_claims_total', '{}', 'starflow.counted_claims'),
      ('starflow_leases_lost_total', '{}', 'starflow.counted_losses')
    ) c (metric, labels, sequence)
  ) s);
end $$;
comment on function starflow.metrics(bigint, bigint) is
  'What monitoring asks of this database: { samples: [{ metric, labels, value }], lag }, lag as outbox_lag tells it, while runs are mirrored. docs/operations/metrics.md explains each.';

-- 75_server/open_schedules.sql
-- A read, but for schedules that are new.
create function starflow.open_schedules(workspace_id text, trigger_names text[])
returns table (trigger_name text, fired_until timestamptz, clock timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into starflow.trigger_schedules as s (workspace_id, trigger_name, fired_until)
  select open_schedules.workspace_id, n.name, pgflow.clock()
  from unnest(open_schedules.trigger_names) n (name)
  where not exists (
    select from starflow.trigger_schedules k where k.workspace_id = open_schedules.workspace_id and k.trigger_name = n.name)
  on conflict do nothing;
  return query
    select s.trigger_name, s.fired_until, pgflow.clock()
    from starflow.trigger_schedules s
    where s.workspace_id = open_schedules.workspace_id and s.trigger_name = any (open_schedules.trigger_names);
end $$;
comment on function starflow.open_schedules(text, text[]) is
  'Until which instant these schedules have fired, and what time it is. One that was never seen has fired until now.';

-- 75_server/prune_alerts.sql
create function starflow.prune_alerts(older_than_ms bigint)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  delete from starflow.alert_problems p where p.resolved_at < pgflow.clock() - starflow._milliseconds(older_than_ms);
  delete from starflow.alert_messages m where m.created_at < pgflow.clock() - starflow._milliseconds(older_than_ms);
$$;
comment on function starflow.prune_alerts(bigint) is 'Forgets problems that were resolved this long ago, and messages as old.';

-- 75_server/prune_firings.sql
create function starflow.prune_firings(older_than_ms bigint)
returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  with pruned as (
    delete from starflow.trigger_firings f
    where f.settled_at < pgflow.clock() - starflow._milliseconds(older_than_ms)
    returning f.occurrence
  )
  select count(*) from pruned
$$;
comment on function starflow.prune_firings(bigint) is 'Forgets firings that were settled this long ago. Their runs keep the idempotency keys.';

-- 75_server/queue_history.sql
-- Thinned to about max_points: of the samples that become one point, the largest depth, the oldest age and the fewest workers count, so that
-- no trouble is averaged away.
create function starflow.queue_history(queue_name text, sampled_from timestamptz, sampled_until timestamptz, max_points integer default 500)
returns table (
  sampled_at timestamptz, depth integer, in_flight integer, oldest_seconds real, live_workers integer, done integer, done_per_minute real)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  -- Whole minutes, since there is a sample per minute.
  v_width interval := make_interval(mins => greatest(1, ceil(extract(epoch from sampled_until - sampled_from) / 60 / max_points)::integer));
begin
  return query
    select date_bin(v_width, s.sampled_at, timestamptz 'epoch') as at, max(s.depth), max(s.in_flight), max(s.oldest_seconds), min(s.live_workers),
           sum(s.done)::integer, (sum(s.done) * 60 / nullif(sum(s.done_seconds), 0))::real
    from starflow.queue_samples s
    where s.queue_name = queue_history.queue_name and s.sampled_at >= sampled_from and s.sampled_at < sampled_until
    group by at
    order by at;
end $$;
comment on function starflow.queue_history(text, timestamptz, timestamptz, integer) is
  'The samples of a queue from an instant on and before another, thinned to about max_points, in order.';

-- 75_server/queue_run_events.sql
-- Read off the tables: a step that ran again shows its last times, and earlier attempts show as they are in task_attempts.
-- Types, node ids and payloads are those of workflow_run_events, so that whoever shows a run need not care where it ran.
create function starflow.queue_run_events(
  run_id uuid, since timestamptz default null, after_type text default null, after_node text default null,
  after_attempt integer default null, max_rows integer default null)
returns setof starflow.queue_run_event
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with run as (
    select * from pgflow.runs r where r.run_id = queue_run_events.run_id
  ), task as (
    select t.*, t.step_slug || case st.step_type when 'map' then format('[%s]', t.task_index) else '' end as node_id, st.step_type
    from pgflow.step_tasks t
    join pgflow.steps st on st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
    where t.run_id = queue_run_events.run_id
  ), event (happened_at, event_type, node_id, attempt, payload) as (
    select r.started_at, 'run_started', null, 0, null::jsonb from run r
    union all
    select t.started_at, 'node_start', t.node_id, t.attempts_count, jsonb_build_object('attempt', t.attempts_count)
    from task t where t.step_type <> 'wait' and t.started_at is not null
    union all
    -- A wait is never claimed: it begins where it opens.
    select t.queued_at, 'node_start', t.node_id, 1, jsonb_build_object('attempt', 1) from task t where t.step_type = 'wait'
    union all
    select a.ended_at, case when t.status = 'failed' and a.attempt = t.attempts_count then 'node_error' else 'node_retry' end, t.node_id, a.attempt,
           jsonb_build_object('attempt', a.attempt, 'reason', a.reason,
             'error', jsonb_strip_nulls(jsonb_build_object('name', a.error_name, 'message', a.error_message)))
    from pgflow.task_attempts a
    join task t on t.run_id = a.run_id and t.step_slug = a.step_slug and t.task_index = a.task_index
    union all
    select t.completed_at, 'node_complete', t.node_id, t.attempts_count, jsonb_build_object('output', t.output)
    from task t where t.step_type = 'map' and t.status = 'completed'
    union all
    select s.completed_at, 'node_complete', s.step_slug, 0, jsonb_build_object('output', s.output)
    from pgflow.step_states s where s.run_id = queue_run_events.run_id and s.status = 'completed'
    union all
    select s.failed_at, 'node_error', s.step_slug, 0, jsonb_build_object('error', jsonb_build_object('message', s.error_message))
    from pgflow.step_states s where s.run_id = queue_run_events.run_id and s.status = 'failed'
      and not exists (select from task t where t.step_slug = s.step_slug and t.status = 'failed' and t.step_type <> 'map')
    union all
    select s.skipped_at, 'node_skip', s.step_slug, 0, jsonb_build_object('reason', s.skip_reason)
    from pgflow.step_states s where s.run_id = queue_run_events.run_id and s.status = 'skipped'
    union all
    select coalesce(r.completed_at, r.failed_at, r.cancelled_at),
           case r.status when 'completed' then 'run_completed' when 'failed' then 'run_failed' else 'run_cancelled' end, null, 0,
           case when r.cancel_reason is not null then jsonb_build_object('reason', r.cancel_reason) end
    from run r where r.status <> 'started'
  )
  select row(e.happened_at, e.event_type, e.node_id, e.attempt, e.payload)::starflow.queue_run_event
  from event e
  where since is null or e.happened_at > since
     -- Only at that very instant does the rest of the order matter: one start of a map gives all its elements the same.
     or (e.happened_at = since and (after_type is null
       or (starflow._queue_event_rank(e.event_type), coalesce(e.node_id, ''), e.attempt)
          > (starflow._queue_event_rank(after_type), coalesce(after_node, ''), coalesce(after_attempt, 0))))
  order by e.happened_at, starflow._queue_event_rank(e.event_type), coalesce(e.node_id, ''), e.attempt
  limit max_rows
$$;
comment on function starflow.queue_run_events(uuid, timestamptz, text, text, integer, integer) is
  'What happened to a run in queue placement, in order, as far as its tables tell; with since, what happened then or later, and with the rest of an event (after_type, after_node, after_attempt) only what comes after it; at most max_rows.';

-- 75_server/queue_run_steps.sql
-- What a graph and a timeline of one run need, in one call. Outputs that are larger than max_bytes are left out, and of a step with many
-- tasks the attempts of the first max_tasks are told: queue_run_tasks has the others.
create function starflow.queue_run_steps(run_id uuid, max_bytes integer, max_tasks integer default 20)
returns table (
  step_slug text, step_type text, depends_on text[], queue_name text, status text, is_waiting boolean, total_tasks integer, queued_tasks integer,
  started_tasks integer, completed_tasks integer, failed_tasks integer, attempts integer, max_attempts integer, timeout_seconds integer,
  ready_at timestamptz, due_at timestamptz, started_at timestamptz, ended_at timestamptz, skip_reason text, error_name text, error_message text,
  error_stack text, output jsonb, output_bytes integer, spans jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select s.step_slug, st.step_type,
           array(select d.dep_slug from pgflow.deps d where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug order by d.dep_slug),
           case when st.step_type <> 'wait' then st.queue_name end,
           s.status, coalesce(t.waiting > 0, false), s.initial_tasks, coalesce(t.queued, 0), coalesce(t.started, 0), coalesce(t.completed, 0),
           coalesce(t.failed, 0), coalesce(t.attempts, 0),
           case when st.step_type <> 'wait' then coalesce(st.opt_max_attempts, f.opt_max_attempts) end,
           case when st.step_type = 'wait' then st.opt_timeout else coalesce(st.opt_timeout, f.opt_timeout) end,
           s.started_at,
           case when t.queued > 0 and r.status = 'started' then starflow._next_due_at(s.run_id, s.step_slug) else w.due_at end,
           least(t.first_started_at, a.first_started_at),
           coalesce(s.completed_at, s.failed_at, s.skipped_at), s.skip_reason,
           e.error_name, coalesce(s.error_message, e.error_message, t.error), left(e.error_stack, 16384),
           case when starflow._json_size(s.output) <= max_bytes then s.output end, starflow._json_size(s.output),
           (select jsonb_agg(jsonb_build_object('task', x.task_index, 'attempt', x.attempt, 'outcome', x.outcome, 'worker', x.worker_id,
                     'startedAt', starflow._iso(x.started_at), 'endedAt', starflow._iso(x.ended_at)))
            from starflow._attempts_of_tasks(s.run_id, s.step_slug, 0, max_tasks - 1) x where x.started_at is not null)
    from pgflow.runs r
    join pgflow.flows f on f.flow_slug = r.flow_slug
    join pgflow.step_states s on s.run_id = r.run_id
    join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
    left join pgflow.waits w on w.run_id = s.run_id and w.step_slug = s.step_slug and w.opened_at is not null
    left join lateral (
      select count(*) filter (where x.status = 'queued')::integer as queued, count(*) filter (where x.status = 'started')::integer as started,
             count(*) filter (where x.status = 'completed')::integer as completed, count(*) filter (where x.status = 'failed')::integer as failed,
             count(*) filter (where x.status = 'waiting')::integer as waiting, max(x.attempts_count) as attempts,
             min(x.started_at) as first_started_at, max(x.error_message) filter (where x.status in ('failed', 'queued', 'started')) as error
      from pgflow.step_tasks x where x.run_id = s.run_id and x.step_slug = s.step_slug) t on true
    left join lateral (
      select min(x.started_at) as first_started_at from pgflow.task_attempts x where x.run_id = s.run_id and x.step_slug = s.step_slug) a on true
    -- Why it failed, or the last attempt of what is still tried did.
    left join lateral (
      select x.error_name, x.error_message, x.error_stack from pgflow.task_attempts x
      where x.run_id = s.run_id and x.step_slug = s.step_slug and s.status in ('started', 'failed') and x.error_message is not null
      order by x.ended_at desc, x.task_index limit 1) e on true
    where r.run_id = queue_run_steps.run_id
    order by st.step_index;
end $$;
comment on function starflow.queue_run_steps(uuid, integer, integer) is
  'The steps of a run in queue placement, in the order of the flow, with what a graph and a timeline of it need. An output larger than max_bytes is left out (output_bytes tells its size); spans has the attempts of the first max_tasks tasks of each step.';

-- 75_server/queue_run_tasks.sql
-- By task index, which the primary key has in order.
create function starflow.queue_run_tasks(
  run_id uuid, step_slug text, after_index integer default null, task_status text default null, max_rows integer default 50)
returns table (
  task_index integer, status text, queued_at timestamptz, started_at timestamptz, ended_at timestamptz, worker_id uuid, attempts_count integer,
  error_message text, output_bytes integer, attempts jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select t.task_index, t.status, t.queued_at, t.started_at, coalesce(t.completed_at, t.failed_at), t.last_worker_id, t.attempts_count,
           case when t.status <> 'completed' then t.error_message end, starflow._json_size(t.output),
           (select coalesce(jsonb_agg(jsonb_build_object(
                     'attempt', a.attempt, 'outcome', a.outcome, 'worker', a.worker_id, 'function', a.function_name,
                     'startedAt', starflow._iso(a.started_at), 'endedAt', starflow._iso(a.ended_at),
                     'error', a.error_message, 'errorName', a.error_name, 'errorStack', a.error_stack)), '[]')
            from starflow._attempts_of_tasks(t.run_id, t.step_slug, t.task_index, t.task_index) a)
    from pgflow.step_tasks t
    where t.run_id = queue_run_tasks.run_id and t.step_slug = queue_run_tasks.step_slug
      and (after_index is null or t.task_index > after_index)
      and (task_status is null or t.status = task_status)
    order by t.task_index
    limit max_rows;
end $$;
comment on function starflow.queue_run_tasks(uuid, text, integer, text, integer) is
  'The tasks of a step of a run in queue placement, by index, each with its attempts. For the next page give the last index.';

-- 75_server/record_delivery.sql
create function starflow.record_delivery(workspace_id text, trigger_name text, delivery_id text, start jsonb)
returns table (firing starflow.trigger_firings, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into starflow.trigger_firings as f (workspace_id, kind, trigger_name, occurrence, start, status, recorded_at)
  values (
    record_delivery.workspace_id, 'webhook', record_delivery.trigger_name, delivery_id, record_delivery.start, 'recorded', pgflow.clock())
  on conflict on constraint trigger_firings_pkey do update set
    start = excluded.start, status = 'recorded', recorded_at = excluded.recorded_at, settled_at = null, refused_code = null
  where f.status = 'refused';
  created := found;
  select f.* into firing from starflow.trigger_firings f
  where f.workspace_id = record_delivery.workspace_id and f.kind = 'webhook' and f.trigger_name = record_delivery.trigger_name
    and f.occurrence = delivery_id;
  return next;
end $$;
comment on function starflow.record_delivery(text, text, text, jsonb) is
  'Records a delivery of a webhook, or gives what the same one became. A refused one is recorded anew.';

-- 75_server/record_instant.sql
-- A process that was asleep must not fire what others have fired and forgotten: nothing is recorded up to fired_until.
create function starflow.record_instant(
  workspace_id text, trigger_name text, scheduled_at timestamptz, occurrence text, start jsonb, status text default 'recorded')
returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  with recorded as (
    insert into starflow.trigger_firings as f (
      workspace_id, kind, trigger_name, occurrence, scheduled_at, start, status, recorded_at, settled_at)
    select s.workspace_id, 'schedule', s.trigger_name, record_instant.occurrence, record_instant.scheduled_at, record_instant.start,
           record_instant.status, pgflow.clock(), case when record_instant.status <> 'recorded' then pgflow.clock() end
    from starflow.trigger_schedules s
    where s.workspace_id = record_instant.workspace_id and s.trigger_name = record_instant.trigger_name
      and s.fired_until < record_instant.scheduled_at
    on conflict do nothing
    returning f.occurrence
  )
  select exists (select from recorded)
$$;
comment on function starflow.record_instant(text, text, timestamptz, text, jsonb, text) is
  'Records that a schedule fires for an instant. True for the one call that did so, which then starts the run.';

-- 75_server/revoke_api_token.sql
create function starflow.revoke_api_token(token_id text)
returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  with revoked as (
    update starflow.api_tokens t set revoked_at = coalesce(t.revoked_at, pgflow.clock())
    where t.token_id = revoke_api_token.token_id returning t.token_id
  )
  select exists (select from revoked)
$$;
comment on function starflow.revoke_api_token(text) is 'From now on the token is refused. Again: no effect. False when there is none of this id.';

-- 75_server/run_statistics.sql
-- Bounded, along indexes: what is open is counted up to 10 000, the last hour up to 100 000 starts (since tells how far back that reaches).
-- Of a workspace, open runs in queue placement are counted among the newest 20 000 of all.
create function starflow.run_statistics(workspace_id text default null)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_from timestamptz := date_trunc('minute', v_now) - interval '59 minutes';
  v_starts timestamptz[];
  v_open jsonb;
  v_minutes jsonb;
begin
  if workspace_id is null then
    v_starts := array(select r.started_at from pgflow.runs r where r.started_at >= v_from order by r.started_at desc limit 50000)
             || array(select r.created_at from starflow.workflow_runs r where r.created_at >= v_from order by r.created_at desc limit 50000);
  else
    v_starts := array(select q.started_at from starflow.queue_runs q
                      where q.workspace_id = run_statistics.workspace_id and q.started_at >= v_from order by q.started_at desc limit 50000)
             || array(select r.created_at from starflow.workflow_runs r
                      where r.workspace_id = run_statistics.workspace_id and r.created_at >= v_from order by r.created_at desc limit 50000);
  end if;
  if cardinality(v_starts) >= 50000 then
    v_from := greatest(v_from, date_trunc('minute', (select min(s) from unnest(v_starts) s)) + interval '1 minute');
  end if;

  with minute as (
    select m.at from generate_series(v_from, date_trunc('minute', v_now), interval '1 minute') m(at)
  ), started as (
    select date_trunc('minute', s) as at, count(*) as runs from unnest(v_starts) s group by 1
  ), failed as (
    select date_trunc('minute', f.at) as at, count(*) as runs
    from (
      select r.failed_at as at from pgflow.runs r left join starflow.queue_runs q on q.run_id = r.run_id
      where r.failed_at >= v_from and (run_statistics.workspace_id is null or q.workspace_id = run_statistics.workspace_id)
      union all
      select r.completed_at from starflow.workflow_runs r
      where r.status = 'error' and r.completed_at >= v_from and (run_statistics.workspace_id is null or r.workspace_id = run_statistics.workspace_id)
      limit 100000) f
    group by 1
  )
  select jsonb_agg(jsonb_build_object('at', starflow._iso(m.at), 'started', coalesce(s.runs, 0), 'failed', coalesce(f.runs, 0)) order by m.at)
  into v_minutes
  from minute m left join started s on s.at = m.at left join failed f on f.at = m.at;

  select jsonb_object_agg(o.status, o.runs) into v_open
  from (
    select s.status, sum(s.runs) as runs
    from (
      select 'running' as status, count(*) as runs
      from (select from pgflow.runs r where r.status = 'started' and run_statistics.workspace_id is null limit 10000) x
      union all
      select 'running', count(*)
      from (select r.run_id from pgflow.runs r where r.status = 'started' and run_statistics.workspace_id is not null
            order by r.started_at desc limit 20000) x
      join starflow.queue_runs q on q.run_id = x.run_id and q.workspace_id = run_statistics.workspace_id
      union all
      select x.status, count(*)
      from (select r.status from starflow.workflow_runs r
            where r.status in ('queued', 'running', 'paused')
              and (run_statistics.workspace_id is null or r.workspace_id = run_statistics.workspace_id) limit 10000) x
      group by x.status) s
    group by s.status) o;

  return jsonb_build_object(
    'asOf', starflow._iso(v_now),
    'open', jsonb_build_object('queued', 0, 'running', 0, 'paused', 0) || coalesce(v_open, '{}'),
    'minutes', v_minutes,
    'openWaits', (
      select count(*)
      from (select from pgflow.waits w left join starflow.queue_runs q on q.run_id = w.run_id
            where w.opened_at is not null and (run_statistics.workspace_id is null or q.workspace_id = run_statistics.workspace_id)
            union all
            select from starflow.workflow_waits w
            where w.status = 'open' and (run_statistics.workspace_id is null or exists (
              select from starflow.workflow_runs r where r.id = w.run_id and r.workspace_id = run_statistics.workspace_id))
            limit 10000) x));
end $$;
comment on function starflow.run_statistics(text) is
  'Of both placements, for a workspace or all: open runs by status, and per minute of the last hour how many were started and have failed, as JSON. Minutes before since were not counted.';

-- 75_server/sample_queues.sql
-- Each minute, from pg_cron. A queue costs one bounded pass, however many messages it has; after 5 s the rest are left for the next minute,
-- which begins with those that were sampled longest ago.
create function starflow.sample_queues()
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_until timestamptz := clock_timestamp() + interval '5 seconds';
  v_now timestamptz := pgflow.clock();
  v_count integer := 0;
  v_queue record;
  v_measures record;
  v_done bigint;
begin
  for v_queue in
    select q.queue_name, s.sampled_at, s.archived_count,
           (select count(*)::integer from pgflow.workers w where lower(w.queue_name collate "C") = lower(q.queue_name collate "C") and w.stopped_at is null
              and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)) as live_workers, q.flow_slug
    from (select u.queue_name, max(u.flow_slug) as flow_slug
          from (select queue_name, flow_slug from pgflow._routes union all select queue_name, null from pgflow.worker_function_queues) u
          group by u.queue_name) q
    left join lateral (
      select x.sampled_at, x.archived_count from starflow.queue_samples x
      where x.queue_name = q.queue_name order by x.sampled_at desc limit 1) s on true
    order by s.sampled_at nulls first, q.queue_name
  loop
    exit when clock_timestamp() > v_until;
    -- Queues are looked at in the order of their age, which is not that in which a deletion drops them.
    continue when v_queue.flow_slug is not null and not pg_try_advisory_xact_lock_shared(pgflow._deletion_lock(v_queue.flow_slug));
    select * into v_measures from pgflow._queue_measures(v_queue.queue_name);
    continue when v_measures.depth is null;
    v_done := v_measures.archived_count - v_queue.archived_count;
    if v_done < 0 then
      v_done := null;
    end if;
    insert into starflow.queue_samples (queue_name, sampled_at, depth, in_flight, oldest_seconds, live_workers, archived_count, done, done_seconds)
    values (v_queue.queue_name, v_now, v_measures.depth, v_measures.in_flight, extract(epoch from v_measures.oldest_age), v_queue.live_workers,
            coalesce(v_measures.archived_count, 0), v_done, case when v_done is not null then extract(epoch from v_now - v_queue.sampled_at) end)
    on conflict on constraint queue_samples_pkey do nothing;
    v_count := v_count + 1;
  end loop;
  if extract(minute from v_now) = 0 or not exists (select from starflow.queue_samples s where s.sampled_at > v_now - interval '1 hour' and s.sampled_at < v_now) then
    delete from starflow.queue_samples s where s.sampled_at < v_now - interval '7 days';
  end if;
  return v_count;
end $$;
comment on function starflow.sample_queues() is 'Adds a sample of each queue to queue_samples, and once an hour deletes those of more than a week ago. Returns how many queues were sampled: what cannot be within 5 s is left for the next call.';

-- 75_server/settle_alert_message.sql
create function starflow.settle_alert_message(message_id uuid, attempt integer, outcome text default null, retry_ms bigint default null)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update starflow.alert_messages m set
    outcome = settle_alert_message.outcome,
    settled_at = case when settle_alert_message.outcome is not null then pgflow.clock() end,
    next_attempt_at = case when settle_alert_message.outcome is null then pgflow.clock() + starflow._milliseconds(retry_ms) end
  where m.message_id = settle_alert_message.message_id and m.attempts = settle_alert_message.attempt and m.settled_at is null;
  return found;
end $$;
comment on function starflow.settle_alert_message(uuid, integer, text, bigint) is
  'What became of an attempt to send a message: sent or given_up, or null and when to try again. False for an attempt that is not the last one.';

-- 75_server/settle_firing.sql
create function starflow.settle_firing(
  workspace_id text, kind text, trigger_name text, occurrence text, run_id uuid default null, refused_code text default null)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  update starflow.trigger_firings f set
    status = case when settle_firing.run_id is null then 'refused' else 'started' end,
    run_id = settle_firing.run_id, refused_code = settle_firing.refused_code, settled_at = pgflow.clock()
  where f.workspace_id = settle_firing.workspace_id and f.kind = settle_firing.kind and f.trigger_name = settle_firing.trigger_name
    and f.occurrence = settle_firing.occurrence and f.status = 'recorded'
$$;
comment on function starflow.settle_firing(text, text, text, text, uuid, text) is
  'What became of a recorded firing: its run, or the code that it was refused with. Again: no effect.';

-- 75_server/setup_queue_samples_cron.sql
create function starflow.setup_queue_samples_cron(cron_interval text default '* * * * *')
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  perform cron.schedule('starflow_sample_queues', setup_queue_samples_cron.cron_interval, 'select starflow.sample_queues()');
  return format('scheduled starflow_sample_queues at %s', setup_queue_samples_cron.cron_interval);
end $$;
comment on function starflow.setup_queue_samples_cron(text) is 'Schedules sample_queues on pg_cron, once a minute unless told otherwise. Without it the queues have no history.';

-- 75_server/start_queue_run.sql
-- One transaction with start_flow. The row comes first: of two starts with one key the second waits for the first here, and
-- then is given its run.
create function starflow.start_queue_run(
  workspace_id text, env text, flow_slug text, input jsonb, idempotency_key text default null, delay_ms bigint default 0,
  traceparent text default null)
returns table (run_id uuid, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_id uuid := pgflow.new_run_id();
  v_existing starflow.queue_runs;
begin
  perform pgflow._check_idempotency_key(start_queue_run.flow_slug, start_queue_run.idempotency_key);
  insert into starflow.queue_runs (run_id, workspace_id, env, flow_slug, idempotency_key, started_at)
  values (v_run_id, start_queue_run.workspace_id, start_queue_run.env, start_queue_run.flow_slug, start_queue_run.idempotency_key, pgflow.clock())
  on conflict do nothing;
  if not found then
    select * into v_existing from starflow.queue_runs q
    where q.workspace_id = start_queue_run.workspace_id and q.env = start_queue_run.env and q.idempotency_key = start_queue_run.idempotency_key;
    if v_existing.flow_slug <> start_queue_run.flow_slug then
      perform pgflow._raise('SF202', format('Idempotency key "%s" is taken.', start_queue_run.idempotency_key),
        format('It started run %s of flow "%s".', v_existing.run_id, v_existing.flow_slug), 'Use another key for another flow.');
    end if;
    return query values (v_existing.run_id, false);
    return;
  end if;
  if start_queue_run.traceparent is not null then
    perform set_config('pgflow.traceparent', start_queue_run.traceparent, true);
  end if;
  perform pgflow.start_flow(start_queue_run.flow_slug, start_queue_run.input, v_run_id,
    start_at => case when delay_ms > 0 then pgflow.clock() + starflow._milliseconds(delay_ms) end);
  return query values (v_run_id, true);
end $$;
comment on function starflow.start_queue_run(text, text, text, jsonb, text, bigint, text) is
  'Starts a run in queue placement for a workspace, within the trace of traceparent. The same idempotency key in its workspace and env gives the run that it started.';

-- 75_server/take_alert_messages.sql
-- For lease_ms they are the caller's; when it ends without a word, another one takes them.
create function starflow.take_alert_messages(webhooks text[], lease_ms bigint)
returns table (message_id uuid, webhook text, problems jsonb, created_at timestamptz, attempt integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    update starflow.alert_messages m set attempts = m.attempts + 1, next_attempt_at = pgflow.clock() + starflow._milliseconds(lease_ms)
    from (
      select o.message_id from starflow.alert_messages o
      where o.settled_at is null and o.next_attempt_at <= pgflow.clock() and o.webhook = any (webhooks)
      order by o.created_at limit 20
      for update skip locked
    ) due
    where m.message_id = due.message_id
    returning m.message_id, m.webhook, m.problems, m.created_at, m.attempts;
end $$;
comment on function starflow.take_alert_messages(text[], bigint) is 'Messages of alerts that are due, to be sent by the caller alone; attempt goes with their settlement.';

-- 75_server/unstarted_firings.sql
create function starflow.unstarted_firings(workspace_id text, older_than_ms bigint, max_rows integer default 100)
returns setof starflow.trigger_firings
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.* from starflow.trigger_firings f
  where f.workspace_id = unstarted_firings.workspace_id and f.status = 'recorded'
    and f.recorded_at <= pgflow.clock() - starflow._milliseconds(older_than_ms)
  order by f.recorded_at, f.scheduled_at limit max_rows
$$;
comment on function starflow.unstarted_firings(text, bigint, integer) is
  'Firings that were recorded this long ago and have not started their run, the oldest first: whoever recorded them is gone, or could not.';

-- 80_mirror/01_tables.sql
create table starflow.mirror_outbox (
  id bigserial not null,
  run_id uuid,
  kind text not null,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  applied_at timestamptz,
  refused_because text,
  constraint mirror_outbox_pkey primary key (id),
  constraint mirror_outbox_refused_is_applied check (refused_because is null or applied_at is not null),
  constraint mirror_outbox_kind_is_known check (kind in ('run', 'event', 'session_var', 'step_progress'))
);
create index idx_mirror_outbox_unapplied on starflow.mirror_outbox (id) where applied_at is null;
create index idx_mirror_outbox_unapplied_of_run on starflow.mirror_outbox (run_id, id) where applied_at is null;
create index idx_mirror_outbox_applied on starflow.mirror_outbox (applied_at) where applied_at is not null;
create index idx_mirror_outbox_refused on starflow.mirror_outbox (id) where refused_because is not null;
comment on table starflow.mirror_outbox is 'What the warm tier has to learn, written in the transaction of the write itself while the setting mirror is on. Rows that are not applied are its lag.';
comment on column starflow.mirror_outbox.run_id is 'The run that wrote it. Rows of one run are applied in the order of their ids.';
comment on column starflow.mirror_outbox.refused_because is 'Why the warm tier refused the row. It was set aside then, so that others go on, and counts as applied.';
comment on column starflow.mirror_outbox.payload is 'All that the warm tier needs: rows without inputs, outputs and checkpoints, which are read from the cold tier.';

-- The warm tier in this database. Unlogged: a write costs no WAL, a standby does not have it, and a crash empties it; then the
-- sweep of the mirror fills it again. Nothing may be decided by it.
create unlogged table starflow.warm_runs (
  run_id uuid not null,
  workspace_id text not null,
  is_open boolean not null,
  run jsonb not null,
  active_nodes jsonb not null default '{}',
  outbox_id bigint not null,
  changed_at timestamptz not null,
  constraint warm_runs_pkey primary key (run_id)
) with (fillfactor = 50);
create index idx_warm_runs_open on starflow.warm_runs (workspace_id, changed_at desc) where is_open;
create index idx_warm_runs_ended on starflow.warm_runs (changed_at) where not is_open;
comment on table starflow.warm_runs is 'The live overlay of runs: what they are doing now, a second or two late. A hint, never the truth.';
comment on column starflow.warm_runs.run is 'The run as the outbox tells it.';
comment on column starflow.warm_runs.active_nodes is 'The nodes that have begun and not ended: { node: { attempt, since } }.';
comment on column starflow.warm_runs.outbox_id is 'The last row of the outbox that it knows: earlier ones no longer count.';

-- Apart from warm_runs: a step may say something before the outbox has told of its run, and says it often.
create unlogged table starflow.warm_step_progress (
  run_id uuid not null,
  node_id text not null,
  value jsonb not null,
  reported_at timestamptz not null,
  constraint warm_step_progress_pkey primary key (run_id, node_id)
) with (fillfactor = 50);
comment on table starflow.warm_step_progress is 'What steps last said of themselves. It is nowhere else, and shown while the node is active.';

create unlogged table starflow.warm_watermark (
  is_only boolean not null default true,
  as_of timestamptz not null,
  constraint warm_watermark_pkey primary key (is_only),
  constraint warm_watermark_is_one_row check (is_only)
);
comment on table starflow.warm_watermark is 'Up to when the warm tier knows everything that was written.';

-- 80_mirror/_active_nodes.sql
-- The nodes of a run that have begun and not ended, read from its events: what _apply_event makes of them one by one.
create function starflow._active_nodes(p_run starflow.workflow_runs)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
  select case when starflow._has_ended(p_run.status) then '{}' else coalesce(jsonb_object_agg(n.node_id, n.activity), '{}') end
  from (
    select distinct on (e.node_id) e.node_id, e.id, e.event_type,
           jsonb_build_object('attempt', e.payload_json -> 'attempt', 'since', to_jsonb(e.created_at)) as activity
    from starflow.workflow_run_events e
    where e.run_id = p_run.id and e.node_id is not null
    order by e.node_id, e.id desc
  ) n
  where n.event_type = 'node_start'
    and n.id > coalesce((
      select max(c.id) from starflow.workflow_run_events c
      where c.run_id = p_run.id and c.event_type in ('runner_lost', 'run_released', 'run_retried')), 0)
$$;

-- 80_mirror/_apply_event.sql
create function starflow._apply_event(p_active_nodes jsonb, p_event jsonb)
returns jsonb
language sql immutable
return case
  when p_event ->> 'event_type' = 'node_start' then p_active_nodes || jsonb_build_object(
    p_event ->> 'node_id', jsonb_build_object('attempt', p_event -> 'payload_json' -> 'attempt', 'since', p_event -> 'created_at'))
  when p_event ->> 'node_id' is not null then p_active_nodes - (p_event ->> 'node_id')
  when p_event ->> 'event_type' in ('runner_lost', 'run_released', 'run_retried') then '{}'
  else p_active_nodes end;

-- 80_mirror/_broadcast_live.sql
-- So that every process sees what one of them has brought. A hint: without Realtime, or when it fails, who watches asks again.
create function starflow._broadcast_live(p_workspace_id text, p_event text, p_payload jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform realtime.send(p_payload, p_event, 'starflow:workspace:' || p_workspace_id, true);
exception when others then
  raise warning 'The live state of a run was not broadcast: %', sqlerrm;
end $$;

-- 80_mirror/_broadcast_runs.sql
create function starflow._broadcast_runs(p_run_ids uuid[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._broadcast_live(w.workspace_id, 'run', starflow._live_run(w))
  from starflow.warm_runs w where w.run_id = any (p_run_ids) order by w.run_id;
end $$;

-- 80_mirror/_is_mirrored.sql
create function starflow._is_mirrored()
returns boolean
language plpgsql stable
as $$
begin
  return pgflow._setting('mirror') = 'on';
end $$;

-- 80_mirror/_live_run.sql
create function starflow._live_run(p_row starflow.warm_runs)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
return jsonb_build_object('run_id', p_row.run_id, 'run', p_row.run, 'active_nodes', p_row.active_nodes, 'progress', (
    select coalesce(jsonb_object_agg(p.node_id, jsonb_build_object('value', p.value, 'at', p.reported_at)), '{}')
    from starflow.warm_step_progress p where p.run_id = p_row.run_id and p_row.active_nodes ? p.node_id),
  'outbox_id', p_row.outbox_id::text, 'as_of', (select m.as_of from starflow.warm_watermark m));

-- 80_mirror/_mirror_event.sql
create function starflow._mirror_event()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if starflow._is_mirrored() then
    insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
    values (new.run_id, 'event', starflow._mirrored_event(new), pgflow.clock());
  end if;
  return null;
end $$;
create trigger mirror_event after insert on starflow.workflow_run_events for each row execute function starflow._mirror_event();

-- 80_mirror/_mirror_run.sql
-- Triggers, so that no write can be forgotten, and every one is in the outbox exactly if it commits. A heartbeat changes nothing
-- that anybody watches, and fires none.
create function starflow._mirror_run()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if starflow._is_mirrored() then
    insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
    values (new.id, 'run', starflow._mirrored_run(new), pgflow.clock());
  end if;
  return null;
end $$;
create trigger mirror_run after insert or update of status, claim_state, paused_nodes, checkpoint_json, phase, available_at, leased_by
  on starflow.workflow_runs for each row execute function starflow._mirror_run();

-- 80_mirror/_mirror_session_var.sql
create function starflow._mirror_session_var()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if starflow._is_mirrored() then
    if tg_op = 'DELETE' then
      insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
      values (old.run_id, 'session_var', jsonb_build_object('session_id', old.session_id, 'key', old.key, 'is_deleted', true), pgflow.clock());
    else
      insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
      values (new.run_id, 'session_var', to_jsonb(new), pgflow.clock());
    end if;
  end if;
  return null;
end $$;
create trigger mirror_session_var after insert or delete or update of value_json, keep_until
  on starflow.workflow_session_vars for each row execute function starflow._mirror_session_var();

-- 80_mirror/_mirrored_event.sql
-- An event as it is mirrored. Its id is text: JSON has no whole numbers of that size.
create function starflow._mirrored_event(p_event starflow.workflow_run_events)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
return to_jsonb(p_event) || jsonb_build_object('id', p_event.id::text, 'payload_json', p_event.payload_json - '{input,output}'::text[]);

-- 80_mirror/_mirrored_run.sql
-- A run as it is mirrored: small, without what only its runner needs, and without what every heartbeat changes. Instants in UTC, so that
-- two of them can be compared as they are.
create function starflow._mirrored_run(p_run starflow.workflow_runs)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
return to_jsonb(p_run) - '{input,output,checkpoint_json,idempotency_key,traceparent,lease_until,last_heartbeat}'::text[];

-- 80_mirror/list_refused_outbox.sql
create function starflow.list_refused_outbox(max_rows integer default 100)
returns table (id bigint, run_id uuid, kind text, reason text, created_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query
    select o.id, o.run_id, o.kind, o.refused_because, o.created_at from starflow.mirror_outbox o
    where o.refused_because is not null order by o.id desc limit max_rows;
end $$;
comment on function starflow.list_refused_outbox(integer) is 'Rows of the outbox that the warm tier refused within the last week, the latest first, and why.';

-- 80_mirror/mark_outbox_applied.sql
create function starflow.mark_outbox_applied(ids bigint[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update starflow.mirror_outbox o set applied_at = pgflow.clock() where o.id = any (mark_outbox_applied.ids) and o.applied_at is null;
end $$;
comment on function starflow.mark_outbox_applied(bigint[]) is 'The warm tier has these rows of the outbox.';

-- 80_mirror/mirror_snapshots.sql
create function starflow.mirror_snapshots(run_ids uuid[])
returns table (run_id uuid, run jsonb, active_nodes jsonb, is_pending boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select r.id, starflow._mirrored_run(r), starflow._active_nodes(r),
           exists (select from starflow.mirror_outbox o where o.run_id = r.id and o.applied_at is null)
    from starflow.workflow_runs r
    where r.id = any (mirror_snapshots.run_ids);
end $$;
comment on function starflow.mirror_snapshots(uuid[]) is
  'Runs as the warm tier should have them, and whether rows of the outbox are on their way there. What does not exist is left out.';

-- 80_mirror/outbox_lag.sql
create function starflow.outbox_lag(warn_ms bigint default 2000, page_ms bigint default 30000)
returns table (fresh bigint, late bigint, overdue bigint, oldest_ms bigint, as_of timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  return query
    select count(*) filter (where o.created_at > v_now - starflow._milliseconds(warn_ms)),
           count(*) filter (where o.created_at <= v_now - starflow._milliseconds(warn_ms) and o.created_at > v_now - starflow._milliseconds(page_ms)),
           count(*) filter (where o.created_at <= v_now - starflow._milliseconds(page_ms)),
           coalesce((extract(epoch from v_now - min(o.created_at)) * 1000)::bigint, 0),
           coalesce(min(o.created_at), v_now)
    from starflow.mirror_outbox o
    where o.applied_at is null;
end $$;
comment on function starflow.outbox_lag(bigint, bigint) is
  'The lag of the mirror: rows that are not applied, younger than warn_ms, between the two, and page_ms or older; and up to when everything is applied.';

-- 80_mirror/prune_outbox.sql
create function starflow.prune_outbox(older_than_ms bigint default 3600000, max_rows integer default 10000)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  v_pruned integer;
begin
  delete from starflow.mirror_outbox o
  where o.id in (
    select a.id from starflow.mirror_outbox a
    where a.applied_at < pgflow.clock() - starflow._milliseconds(older_than_ms)
      and (a.refused_because is null or a.applied_at < pgflow.clock() - interval '7 days')
    order by a.applied_at limit max_rows
    for update skip locked);
  get diagnostics v_pruned = row_count;
  return v_pruned;
end $$;
comment on function starflow.prune_outbox(bigint, integer) is
  'Deletes rows of the outbox that were applied longer ago than this, an hour unless it says otherwise, and returns how many. What was set aside is kept for a week.';

-- 80_mirror/recent_runs.sql
-- Each part is a range of one index: the table of runs is never scanned, however many have ended.
create function starflow.recent_runs(since_ms bigint)
returns setof uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query
    select r.id from starflow.workflow_runs r where r.claim_state = 'queued'
    union select r.id from starflow.workflow_runs r where r.lease_until is not null
    union select r.id from starflow.workflow_runs r where r.lease_until is null and r.claim_state = 'running'
    union select w.run_id from starflow.workflow_waits w where w.status = 'open'
    union select o.run_id from starflow.mirror_outbox o
          where o.applied_at > pgflow.clock() - starflow._milliseconds(since_ms) and o.run_id is not null;
end $$;
comment on function starflow.recent_runs(bigint) is
  'Runs of the cold tier that the warm one may have wrong: those that are open, and those whose changes were applied within since_ms.';

-- 80_mirror/refuse_outbox.sql
-- What the warm tier refuses it would refuse again, and everything behind it would wait. So the row is put aside; the sweep of the
-- mirror brings its run up to date from the cold tier.
create function starflow.refuse_outbox(id bigint, reason text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update starflow.mirror_outbox o set applied_at = pgflow.clock(), refused_because = left(refuse_outbox.reason, 1000)
  where o.id = refuse_outbox.id and o.applied_at is null;
end $$;
comment on function starflow.refuse_outbox(bigint, text) is 'Sets a row of the outbox aside, with the reason why the warm tier refuses it.';

-- 80_mirror/set_mirroring.sql
-- The switch is of the database, not of one adapter: a server that does not mirror must not make the warm tier drift.
create function starflow.set_mirroring(is_on boolean)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow.set_setting('mirror', case when is_on then 'on' else 'off' end);
end $$;
comment on function starflow.set_mirroring(boolean) is
  'From now on every write of a run, event and session variable, by whomever, is put into mirror_outbox in its own transaction, or no longer.';

-- 80_mirror/take_outbox.sql
-- The oldest row of each run is the lock on the run's others: who has it has them all, in their order, until its transaction ends. What
-- another drainer has locked is skipped; what it has applied meanwhile is seen to be applied when the lock is tried.
create function starflow.take_outbox(max_runs integer default 50, max_rows integer default 500)
returns setof starflow.mirror_outbox
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  v_runs uuid[];
  v_has_runless boolean;
begin
  with heads as (
    select o.id, o.run_id from starflow.mirror_outbox o
    where o.applied_at is null
      and case when o.run_id is null
            then not exists (select from starflow.mirror_outbox e where e.run_id is null and e.applied_at is null and e.id < o.id)
            else not exists (select from starflow.mirror_outbox e where e.run_id = o.run_id and e.applied_at is null and e.id < o.id) end
    order by o.id
    limit max_runs
    for update skip locked
  )
  select array_agg(h.run_id) filter (where h.run_id is not null), coalesce(bool_or(h.run_id is null), false)
  into v_runs, v_has_runless from heads h;

  return query
    select o.* from starflow.mirror_outbox o
    where o.applied_at is null and (o.run_id = any (v_runs) or (v_has_runless and o.run_id is null))
    order by o.id
    limit max_rows;
end $$;
comment on function starflow.take_outbox(integer, integer) is
  'Rows that are not applied yet, of runs that no other transaction drains: the caller''s until its transaction ends. It applies them in the order of their ids and calls mark_outbox_applied.';

-- 80_mirror/warm_advance.sql
-- A crash of Postgres empties the unlogged tables, this one with the others: then nothing is known until the sweep of the mirror has filled
-- them again, and only the sweep may say so.
create function starflow.warm_advance(as_of timestamptz, is_filled boolean default false)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if is_filled then
    insert into starflow.warm_watermark as m (as_of) values (warm_advance.as_of) on conflict (is_only) do nothing;
  end if;
  update starflow.warm_watermark m set as_of = greatest(m.as_of, warm_advance.as_of);
  return found;
end $$;
comment on function starflow.warm_advance(timestamptz, boolean) is
  'The warm tier now knows everything up to this instant. It does not go back. False where it knows nothing: it is filled first, and whoever has filled it says is_filled.';

-- 80_mirror/warm_apply.sql
-- Each change counts once, whoever brings it and how often: what the row knows already is left out. So a drainer that died between
-- this and mark_outbox_applied repeats nothing, not even a broadcast. By run, so that two callers lock rows in one order.
create function starflow.warm_apply(changes jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_change record;
  v_changed uuid[] := '{}';
begin
  for v_change in
    select (c ->> 'id')::bigint as id, (c ->> 'run_id')::uuid as run_id, c ->> 'kind' as kind, c -> 'payload' as payload,
           (c ->> 'created_at')::timestamptz as created_at
    from jsonb_array_elements(changes) c
    order by 2, 1
  loop
    if v_change.kind = 'run' then
      insert into starflow.warm_runs as w (run_id, workspace_id, is_open, run, outbox_id, changed_at)
      values (v_change.run_id, v_change.payload ->> 'workspace_id', not starflow._has_ended(v_change.payload ->> 'status'),
              v_change.payload, v_change.id, v_change.created_at)
      on conflict (run_id) do update
      set is_open = excluded.is_open, run = excluded.run, outbox_id = excluded.outbox_id, changed_at = excluded.changed_at,
          active_nodes = case when excluded.is_open then w.active_nodes else '{}' end
      where w.outbox_id < excluded.outbox_id;
    elsif v_change.kind = 'event' then
      update starflow.warm_runs w
      set active_nodes = case when w.is_open then starflow._apply_event(w.active_nodes, v_change.payload) else '{}' end,
          outbox_id = v_change.id, changed_at = v_change.created_at
      where w.run_id = v_change.run_id and w.outbox_id < v_change.id;
    else
      -- Session variables are read cold only.
      continue;
    end if;
    if found then v_changed := v_changed || v_change.run_id; end if;
    if v_change.kind = 'event' and v_change.payload ->> 'event_type' <> 'node_start' then
      -- What its next attempt has said meanwhile is younger, and stays.
      delete from starflow.warm_step_progress p
      where p.run_id = v_change.run_id and p.node_id = v_change.payload ->> 'node_id' and p.reported_at <= v_change.created_at;
    end if;
  end loop;
  perform starflow._broadcast_runs(v_changed);
  return cardinality(v_changed);
end $$;
comment on function starflow.warm_apply(jsonb) is
  'The warm tier learns rows of the outbox: [{ id, run_id, kind, payload, created_at }], and tells who listens. Returns how many were new to it.';

-- 80_mirror/warm_as_of.sql
create function starflow.warm_as_of()
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select m.as_of from starflow.warm_watermark m);
end $$;
comment on function starflow.warm_as_of() is 'Up to when the warm tier knows everything; null while it knows nothing yet.';

-- 80_mirror/warm_open.sql
-- An array, not rows: REST cuts rows off at a thousand.
create function starflow.warm_open()
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return (select coalesce(array_agg(w.run_id), '{}') from starflow.warm_runs w where w.is_open);
end $$;
comment on function starflow.warm_open() is 'The runs that the warm tier takes for open.';

-- 80_mirror/warm_peers.sql
create function starflow.warm_peers(workspace_id text default null, max_rows integer default 50)
returns setof jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select starflow._live_run(w) from starflow.warm_runs w
    where w.is_open and w.run ->> 'claim_state' <> 'queued'
      and (warm_peers.workspace_id is null or w.workspace_id = warm_peers.workspace_id)
    order by w.changed_at desc
    limit max_rows;
end $$;
comment on function starflow.warm_peers(text, integer) is
  'What the runs of a workspace, or of all, are doing now: those that are held or paused, the last changed first.';

-- 80_mirror/warm_progress.sql
create function starflow.warm_progress(run_id uuid, node_id text, value jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_value jsonb := coalesce(warm_progress.value, 'null');
  v_workspace_id text;
begin
  insert into starflow.warm_step_progress as p (run_id, node_id, value, reported_at)
  values (warm_progress.run_id, warm_progress.node_id, v_value, pgflow.clock())
  on conflict (run_id, node_id) do update set value = excluded.value, reported_at = excluded.reported_at;
  select w.workspace_id into v_workspace_id from starflow.warm_runs w where w.run_id = warm_progress.run_id and w.is_open;
  if found then
    perform starflow._broadcast_live(v_workspace_id, 'progress', jsonb_build_object(
      'run_id', warm_progress.run_id, 'node_id', warm_progress.node_id, 'value', v_value, 'at', pgflow.clock()));
  end if;
end $$;
comment on function starflow.warm_progress(uuid, text, jsonb) is
  'What a step says of itself. Only the warm tier has it, and shows it while the node is active.';

-- 80_mirror/warm_prune.sql
create function starflow.warm_prune(older_than_ms bigint default 3600000)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pruned integer;
begin
  delete from starflow.warm_runs w where not w.is_open and w.changed_at < pgflow.clock() - starflow._milliseconds(older_than_ms);
  get diagnostics v_pruned = row_count;
  delete from starflow.warm_step_progress p
  where p.reported_at < pgflow.clock() - starflow._milliseconds(older_than_ms)
    and not exists (select from starflow.warm_runs w where w.run_id = p.run_id and w.is_open);
  return v_pruned;
end $$;
comment on function starflow.warm_prune(bigint) is 'The warm tier forgets runs that ended, and what steps of none said, longer ago than this, an hour unless it says otherwise.';

-- 80_mirror/warm_put.sql
-- A snapshot of the cold tier takes the place of the row that was compared with it. If that has moved on, a drainer has been here, and the
-- next sweep compares again.
create function starflow.warm_put(snapshots jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_snapshot record;
  v_put uuid[] := '{}';
begin
  for v_snapshot in
    select (s ->> 'run_id')::uuid as run_id, s -> 'run' as run, s -> 'active_nodes' as active_nodes, (s ->> 'outbox_id')::bigint as outbox_id
    from jsonb_array_elements(snapshots) s
    order by 1
  loop
    if jsonb_typeof(v_snapshot.run) = 'null' then
      delete from starflow.warm_runs w where w.run_id = v_snapshot.run_id and w.outbox_id = v_snapshot.outbox_id;
    else
      insert into starflow.warm_runs as w (run_id, workspace_id, is_open, run, active_nodes, outbox_id, changed_at)
      values (v_snapshot.run_id, v_snapshot.run ->> 'workspace_id', not starflow._has_ended(v_snapshot.run ->> 'status'), v_snapshot.run,
              v_snapshot.active_nodes, coalesce(v_snapshot.outbox_id, 0), pgflow.clock())
      on conflict (run_id) do update
      set is_open = excluded.is_open, run = excluded.run, active_nodes = excluded.active_nodes, changed_at = excluded.changed_at
      where w.outbox_id = v_snapshot.outbox_id;
    end if;
    if found then v_put := v_put || v_snapshot.run_id; end if;
  end loop;
  perform starflow._broadcast_runs(v_put);
  return cardinality(v_put);
end $$;
comment on function starflow.warm_put(jsonb) is
  'Corrects the warm tier: [{ run_id, run, active_nodes, outbox_id }], with the outbox_id of the row that was compared, null for none; run null removes it. Returns how many it corrected.';

-- 80_mirror/warm_read.sql
create function starflow.warm_read(run_ids uuid[])
returns setof jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select starflow._live_run(w) from starflow.warm_runs w where w.run_id = any (warm_read.run_ids);
end $$;
comment on function starflow.warm_read(uuid[]) is 'Runs as the warm tier has them, with up to when it knows everything.';

-- 85_retention/_check_retention.sql
create function pgflow._check_retention(p_interval interval, p_max_runs integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not coalesce(p_interval > interval '0', false) or not coalesce(p_max_runs > 0, false) then
    perform pgflow._raise('SF001', 'The retention is not valid.',
      format('retention_interval is %s, and max_runs is %s.', coalesce(p_interval::text, 'null'), coalesce(p_max_runs::text, 'null')),
      'Give an interval above zero, for example: select pgflow.prune_data_older_than(interval ''30 days'')');
  end if;
end $$;

-- 85_retention/prune_data_older_than.sql
-- Runs are taken in the order of their ids, which is that of their starts and that of locks (40_run/README.md). One that somebody
-- holds, to retry it say, is left for the next call. The rest goes from the leaves up, as the foreign keys want it. Messages of ended
-- tasks stand in the archives of their queues; nothing reads them there, so that they go by their age. Runs on runners come last: no
-- other call locks rows of both placements in one transaction.
create function pgflow.prune_data_older_than(retention_interval interval, max_runs integer default 10000, dry_run boolean default false)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cutoff timestamptz := pgflow.clock() - prune_data_older_than.retention_interval;
  v_run_ids uuid[];
  v_queue text;
begin
  perform pgflow._check_retention(prune_data_older_than.retention_interval, prune_data_older_than.max_runs);
  if prune_data_older_than.dry_run then
    return (select count(*) from pgflow.runs r
            where r.status in ('completed', 'failed', 'cancelled') and coalesce(r.completed_at, r.failed_at, r.cancelled_at) < v_cutoff)
           + starflow.prune_runs(prune_data_older_than.retention_interval, dry_run => true);
  end if;
  v_run_ids := array(
    select r.run_id from pgflow.runs r
    where r.status in ('completed', 'failed', 'cancelled') and coalesce(r.completed_at, r.failed_at, r.cancelled_at) < v_cutoff
    order by r.run_id
    limit prune_data_older_than.max_runs
    for update skip locked);
  delete from pgflow.step_tasks t where t.run_id = any (v_run_ids);
  delete from pgflow.step_states s where s.run_id = any (v_run_ids);
  delete from pgflow.runs r where r.run_id = any (v_run_ids);
  for v_queue in
    select distinct q.name from pgflow.flows f cross join lateral unnest(pgflow._flow_queues(f.flow_slug)) q (name)
    where to_regclass(format('pgmq.%I', 'a_' || q.name)) is not null
    order by q.name
  loop
    begin
      execute format('delete from pgmq.%I where archived_at < $1', 'a_' || v_queue) using v_cutoff;
    exception when undefined_table then
      -- Its flow was deleted while this waited for it, and its archive with it.
      continue;
    end;
  end loop;
  return cardinality(v_run_ids) + starflow.prune_runs(prune_data_older_than.retention_interval, prune_data_older_than.max_runs);
end $$;
comment on function pgflow.prune_data_older_than(interval, integer, boolean) is 'Deletes runs that ended longer ago than this, in either placement, at most max_runs of each: those on step queues with their steps, tasks and attempts, and archived messages of flows of that age; those on runners as starflow.prune_runs does. Returns how many runs went; with dry_run how many would, whatever their number, and deletes nothing. There is no way back.';

-- 85_retention/prune_runs.sql
-- As prune_data_older_than: in the order of ids, which is that of locks where many runs are locked at once (70_engine/README.md), and
-- without what somebody holds. A run keeps its lease until its runner has said all of its end: until then it is left.
create function starflow.prune_runs(retention_interval interval, max_runs integer default 10000, dry_run boolean default false)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cutoff timestamptz := pgflow.clock() - prune_runs.retention_interval;
  v_run_ids uuid[];
begin
  perform pgflow._check_retention(prune_runs.retention_interval, prune_runs.max_runs);
  if prune_runs.dry_run then
    return (select count(*) from starflow.workflow_runs r
            where starflow._has_ended(r.status) and coalesce(r.completed_at, r.cancelled_at) < v_cutoff and r.lease_until is null);
  end if;
  v_run_ids := array(
    select r.id from starflow.workflow_runs r
    where starflow._has_ended(r.status) and coalesce(r.completed_at, r.cancelled_at) < v_cutoff and r.lease_until is null
    order by r.id
    limit prune_runs.max_runs
    for update skip locked);
  delete from starflow.workflow_waits w where w.run_id = any (v_run_ids);
  delete from starflow.worker_jobs j where j.run_id = any (v_run_ids);
  perform set_config('starflow.prunes', 'on', true);
  delete from starflow.workflow_run_events e where e.run_id = any (v_run_ids);
  perform set_config('starflow.prunes', '', true);
  -- What a session keeps beyond its run (keep_until) stays, without its name.
  delete from starflow.workflow_runs r where r.id = any (v_run_ids);
  return cardinality(v_run_ids);
end $$;
comment on function starflow.prune_runs(interval, integer, boolean) is
  'Deletes runs on runners that ended longer ago than this, at most max_runs of them, with their events, waits and worker jobs. Returns how many went; with dry_run how many would, whatever their number, and deletes nothing. prune_data_older_than calls it.';

-- 85_retention/setup_prune_data_cron.sql
create function pgflow.setup_prune_data_cron(retention_interval interval, cron_interval text default '17 * * * *')
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_cron();
  -- Refuses what would be refused every hour.
  perform pgflow.prune_data_older_than(setup_prune_data_cron.retention_interval, dry_run => true);
  perform cron.schedule('pgflow_prune_data', setup_prune_data_cron.cron_interval,
    format('select pgflow.prune_data_older_than(%L::interval)', setup_prune_data_cron.retention_interval));
  return format('scheduled pgflow_prune_data at %s, for runs that ended %s ago', setup_prune_data_cron.cron_interval, setup_prune_data_cron.retention_interval);
end $$;
comment on function pgflow.setup_prune_data_cron(interval, text) is 'Schedules prune_data_older_than on pg_cron, hourly unless told otherwise. Nothing is pruned without it; to end it: select cron.unschedule(''pgflow_prune_data'').';

-- 90_access/_check_client_role.sql
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

-- 90_access/_client_functions.sql
-- What a role with client access may call; each checks ownership itself, or, resume_wait, the token that it is given.
create function pgflow._client_functions()
returns setof regprocedure
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  values ('pgflow.start_flow(text, jsonb, uuid, text, timestamptz)'::regprocedure), ('pgflow.start_flows(text, jsonb, uuid[])'),
         ('pgflow.start_flow_with_states(text, jsonb, uuid)'), ('pgflow.get_run_with_states(uuid)'),
         ('pgflow.cancel_run(uuid, text)'), ('pgflow.cancel_runs(uuid[], text)'), ('pgflow.retry_run(uuid)'), ('pgflow.retry_runs(uuid[])'),
         ('pgflow.resume_wait(text, jsonb)'),
         ('pgflow._caller_id()'), ('pgflow._may_watch(text)')
$$;

-- 90_access/_set_topic_policy.sql
-- Lets a role listen to the private channels of its runs, or no longer. Realtime may be missing, or belong to somebody
-- else: then a notice says so, and clients of private channels read the state of their runs instead.
create function pgflow._set_topic_policy(p_role_name text, p_is_open boolean)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy text := left('starflow_runs_of_' || p_role_name, 63);
begin
  if to_regclass('realtime.messages') is null then
    raise notice 'There is no table realtime.messages, so % cannot be given the private channels of its runs', p_role_name;
    return;
  end if;
  execute format('drop policy if exists %I on realtime.messages', v_policy);
  if p_is_open then
    execute format(
      'create policy %I on realtime.messages for select to %I using (extension = ''broadcast'' and pgflow._may_watch((select realtime.topic())))',
      v_policy, p_role_name);
  end if;
exception when insufficient_privilege or undefined_function or undefined_column then
  raise notice 'The policy % on realtime.messages could not be changed: %', v_policy, sqlerrm;
end $$;

-- 90_access/engine_access.sql
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

-- 90_access/grant_client_access.sql
create function pgflow.grant_client_access(role_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_function regprocedure;
begin
  perform pgflow._check_client_role(role_name);
  execute format('grant usage on schema pgflow to %I', role_name);
  execute format('grant select on pgflow.flows, pgflow.steps, pgflow.deps, pgflow.runs, pgflow.step_states, pgflow.step_tasks, pgflow.task_attempts to %I', role_name);
  for v_function in select f from pgflow._client_functions() f loop
    execute format('grant execute on function %s to %I', v_function, role_name);
  end loop;
  perform pgflow._set_topic_policy(role_name, true);
end $$;
comment on function pgflow.grant_client_access(text) is
  'Lets a role start flows and see, watch, cancel and retry its own runs (by the JWT''s sub), and resume the waits they have a token for. Nothing else is opened.';

-- 90_access/revoke_client_access.sql
create function pgflow.revoke_client_access(role_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_function regprocedure;
begin
  perform pgflow._check_client_role(role_name);
  perform pgflow._set_topic_policy(role_name, false);
  for v_function in select f from pgflow._client_functions() f loop
    execute format('revoke execute on function %s from %I', v_function, role_name);
  end loop;
  execute format('revoke select on pgflow.flows, pgflow.steps, pgflow.deps, pgflow.runs, pgflow.step_states, pgflow.step_tasks, pgflow.task_attempts from %I', role_name);
  execute format('revoke usage on schema pgflow from %I', role_name);
end $$;
comment on function pgflow.revoke_client_access(text) is 'Takes back what grant_client_access gave.';

-- 90_access/row_level_security.sql
-- A signed-in person sees their own runs, and of definitions what is needed to show them; nobody else sees anything. The
-- owner of these tables and service_role (which bypasses row-level security) are not limited.
alter table pgflow.settings enable row level security;
alter table pgflow.flows enable row level security;
alter table pgflow.steps enable row level security;
alter table pgflow.deps enable row level security;
alter table pgflow.option_changes enable row level security;
alter table pgflow.runs enable row level security;
alter table pgflow.step_states enable row level security;
alter table pgflow.step_tasks enable row level security;
alter table pgflow.task_attempts enable row level security;
alter table pgflow.parked_tasks enable row level security;
alter table pgflow.waits enable row level security;
alter table pgflow.watched_runs enable row level security;
alter table pgflow.dead_letters enable row level security;
alter table pgflow.forgiven_reads enable row level security;
alter table pgflow.workers enable row level security;
alter table pgflow.worker_functions enable row level security;
alter table pgflow.awaited_pings enable row level security;
alter table pgflow.fence_holds enable row level security;
alter table pgflow.worker_function_queues enable row level security;

create policy definitions_are_readable on pgflow.flows for select using (true);
create policy definitions_are_readable on pgflow.steps for select using (true);
create policy definitions_are_readable on pgflow.deps for select using (true);
create policy own_runs_are_readable on pgflow.runs for select using (owner is not null and owner = pgflow._caller_id());
create policy own_runs_are_readable on pgflow.step_states for select
  using (exists (select from pgflow.runs r where r.run_id = step_states.run_id));
create policy own_runs_are_readable on pgflow.step_tasks for select
  using (exists (select from pgflow.runs r where r.run_id = step_tasks.run_id));
create policy own_runs_are_readable on pgflow.task_attempts for select
  using (exists (select from pgflow.runs r where r.run_id = task_attempts.run_id));

-- 90_access/server_access.sql
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

-- 95_upgrade/move_in.sql
-- See README.md in 00_upgrade: the rows of a released database come back, and what is left of it goes.
do $$
declare
  v_statement text;
  v_role record;
  v_name text;
  v_detail text;
begin
  if to_regnamespace('pgflow_released') is null then
    return;
  end if;

  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout, created_at, compiled_at)
  select f.flow_slug, f.opt_max_attempts, f.opt_base_delay, f.opt_timeout, f.created_at, f.created_at from pgflow_released.flows f;
  insert into pgflow.steps (flow_slug, step_slug, step_type, step_index, deps_count, opt_max_attempts, opt_base_delay, opt_timeout, created_at,
    opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted, queue_name, feeds_map)
  select s.flow_slug, s.step_slug, s.step_type, s.step_index, s.deps_count, s.opt_max_attempts, s.opt_base_delay, s.opt_timeout, s.created_at,
         s.opt_start_delay, s.required_input_pattern, s.forbidden_input_pattern, s.when_unmet, s.when_exhausted, lower(s.flow_slug collate "C"),
         exists (select from pgflow_released.deps d
                 join pgflow_released.steps m on m.flow_slug = d.flow_slug and m.step_slug = d.step_slug and m.step_type = 'map'
                 where d.flow_slug = s.flow_slug and d.dep_slug = s.step_slug)
  from pgflow_released.steps s;
  insert into pgflow.deps (flow_slug, dep_slug, step_slug, created_at)
  select d.flow_slug, d.dep_slug, d.step_slug, d.created_at from pgflow_released.deps d;
  insert into pgflow.workers (worker_id, queue_name, function_name, started_at, deprecated_at, last_heartbeat_at, stopped_at)
  select w.worker_id, w.queue_name, w.function_name, w.started_at, w.deprecated_at, w.last_heartbeat_at, w.stopped_at from pgflow_released.workers w;
  insert into pgflow.worker_functions (function_name, enabled, debounce, last_invoked_at, created_at, updated_at)
  select w.function_name, w.enabled, w.debounce, w.last_invoked_at, w.created_at, w.updated_at from pgflow_released.worker_functions w;
  insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at, failed_at)
  select r.run_id, r.flow_slug, r.status, r.input, r.output, r.remaining_steps, r.started_at, r.completed_at, r.failed_at from pgflow_released.runs r;
  insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_tasks, remaining_deps, created_at, started_at, completed_at,
    failed_at, error_message, initial_tasks, output, skip_reason, skipped_at)
  select s.flow_slug, s.run_id, s.step_slug, s.status, s.remaining_tasks, s.remaining_deps, s.created_at, s.started_at, s.completed_at,
         s.failed_at, s.error_message, s.initial_tasks, s.output, s.skip_reason, s.skipped_at
  from pgflow_released.step_states s;
  insert into pgflow.step_tasks (flow_slug, run_id, step_slug, message_id, task_index, status, attempts_count, error_message, output, queued_at,
    completed_at, failed_at, started_at, last_worker_id, requeued_count, last_requeued_at, permanently_stalled_at, queue_name, input)
  select t.flow_slug, t.run_id, t.step_slug, t.message_id, t.task_index,
         -- The released line leaves tasks open where their run has failed, or their step was skipped.
         case when t.status not in ('queued', 'started') then t.status
              when r.status <> 'started' then 'cancelled' when s.status = 'skipped' then 'skipped' else t.status end,
         t.attempts_count, t.error_message, t.output, t.queued_at,
         t.completed_at, t.failed_at, t.started_at, t.last_worker_id, t.requeued_count, t.last_requeued_at, t.permanently_stalled_at,
         lower(t.flow_slug collate "C"), m.elements -> t.task_index
  from pgflow_released.step_tasks t
  join pgflow_released.runs r on r.run_id = t.run_id
  join pgflow_released.step_states s on s.run_id = t.run_id and s.step_slug = t.step_slug
  -- Once for each map that goes on, however many elements are left of it.
  left join (
    select u.run_id, u.step_slug, pgflow._map_source(u.flow_slug, u.run_id, u.step_slug) as elements
    from (select distinct o.flow_slug, o.run_id, o.step_slug from pgflow_released.step_tasks o
          join pgflow_released.steps s on s.flow_slug = o.flow_slug and s.step_slug = o.step_slug and s.step_type = 'map'
          where o.status in ('queued', 'started')) u
  ) m on m.run_id = t.run_id and m.step_slug = t.step_slug and t.status in ('queued', 'started');

  -- Clients of the released line listen to public channels, to runs that they never asked for, and see a run whose id they know.
  perform pgflow.set_setting('events_channel', 'public');
  perform pgflow.set_setting('events', 'all');
  perform pgflow.set_setting('unowned_runs', 'visible');

  for v_role in select * from pgflow_released._roles loop
    execute format('grant usage on schema pgflow to %I', v_role.role_name);
    if v_role.is_server then
      execute format('grant select, insert, update, delete on all tables in schema pgflow to %I', v_role.role_name);
      execute format('grant usage, select on all sequences in schema pgflow to %I', v_role.role_name);
      execute format('grant execute on all functions in schema pgflow to %I', v_role.role_name);
    end if;
    foreach v_name in array v_role.reads loop
      execute format('grant select on pgflow.%I to %I', v_name, v_role.role_name);
      execute format('create policy %I on pgflow.%I for select to %I using (true)', left('released_reads_of_' || v_role.role_name, 63), v_name, v_role.role_name);
    end loop;
    foreach v_name in array v_role.reads_by_policy loop
      execute format('grant select on pgflow.%I to %I', v_name, v_role.role_name);
      -- Our own policies, which stand beside those of the project, call it.
      execute format('grant execute on function pgflow._caller_id() to %I', v_role.role_name);
    end loop;
    for v_statement in
      select format('grant execute on function %s to %I', p.oid::regprocedure, v_role.role_name)
      from pg_proc p where p.pronamespace = 'pgflow'::regnamespace and p.proname = any (v_role.calls)
    loop
      execute v_statement;
    end loop;
  end loop;
  for v_statement in select k.statement from pgflow_released._kept k loop
    execute v_statement;
  end loop;

  begin
    -- Functions that speak of a table's rows must go before it, one that a check of a table calls after it: so twice around.
    for v_statement in select format('drop routine %s', p.oid::regprocedure) from pg_proc p where p.pronamespace = 'pgflow_released'::regnamespace loop
      begin
        execute v_statement;
      exception when dependent_objects_still_exist then null;
      end;
    end loop;
    drop table pgflow_released.flows, pgflow_released.steps, pgflow_released.deps, pgflow_released.runs, pgflow_released.step_states,
      pgflow_released.step_tasks, pgflow_released.workers, pgflow_released.worker_functions, pgflow_released._kept, pgflow_released._roles;
    for v_statement in select format('drop routine %s', p.oid::regprocedure) from pg_proc p where p.pronamespace = 'pgflow_released'::regnamespace loop
      execute v_statement;
    end loop;
    drop type if exists pgflow_released.step_task_record;
    drop schema pgflow_released;
  exception when dependent_objects_still_exist then
    get stacked diagnostics v_detail = pg_exception_detail;
    raise exception using errcode = 'SF120', message = 'The database cannot be upgraded as it is.',
      detail = replace(v_detail, 'pgflow_released.', 'pgflow.'),
      hint = 'Nothing was changed. Drop what depends on these objects, apply the migration again, and make it again.';
  end;
end $$;

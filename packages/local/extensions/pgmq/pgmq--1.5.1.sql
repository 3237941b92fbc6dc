-- The public interface of pgmq 1.5.1 for a server that has no pgmq: tables, types, functions and messages are the ones
-- callers see on hosted Supabase, so that the same SQL runs on both.
--
-- Every message function runs one dynamic statement, because the table's name is only known then; its text is made by
-- quote_ident from a checked name, values travel as parameters.
--
-- Kept as it is there, on purpose: create and drop take no lock (1.5.2 does), so two at once may collide; and queue tables become
-- members of the extension, so pg_dump leaves them out, `drop extension pgmq` drops them, and only the owner of the extension may
-- create or drop a queue.
\echo Use "CREATE EXTENSION pgmq" to load this file. \quit

create table pgmq.meta (
  queue_name varchar not null,
  is_partitioned boolean not null,
  is_unlogged boolean not null,
  created_at timestamptz not null default now(),
  constraint meta_queue_name_key unique (queue_name)
);
select pg_catalog.pg_extension_config_dump('pgmq.meta', '');

create type pgmq.message_record as (
  msg_id bigint,
  read_ct integer,
  enqueued_at timestamptz,
  vt timestamptz,
  message jsonb,
  headers jsonb
);

create type pgmq.queue_record as (
  queue_name varchar,
  is_partitioned boolean,
  is_unlogged boolean,
  created_at timestamptz
);

create type pgmq.metrics_result as (
  queue_name text,
  queue_length bigint,
  newest_msg_age_sec integer,
  oldest_msg_age_sec integer,
  total_messages bigint,
  scrape_time timestamptz,
  queue_visible_length bigint
);

-- Names

create function pgmq.validate_queue_name(queue_name text) returns void language plpgsql as $$
begin
  -- 63 bytes of an identifier, less 16 for what is put around the name of the longest object made from it.
  if length(queue_name) > 47 then
    raise exception 'queue name is too long, maximum length is 47 characters';
  end if;
end
$$;

create function pgmq.format_table_name(queue_name text, prefix text) returns text language plpgsql as $$
begin
  if queue_name ~ '\$|;|--|''' then
    raise exception 'queue name contains invalid characters: $, ;, --, or ''';
  end if;
  return lower(prefix || '_' || queue_name);
end
$$;

create function pgmq.acquire_queue_lock(queue_name text) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('pgmq.queue_' || lower(queue_name), 0));
end
$$;

-- Queues

create function pgmq._is_member(p_table regclass) returns boolean language sql stable as $$
  select exists (
    select from pg_catalog.pg_depend d join pg_catalog.pg_extension e on e.oid = d.refobjid
    where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = p_table and d.deptype = 'e'
      and d.refclassid = 'pg_catalog.pg_extension'::regclass and e.extname = 'pgmq')
$$;

-- Where the SQL was loaded without an extension there is nothing to belong to.
create function pgmq._join_extension(p_table text) returns void language plpgsql as $$
begin
  if exists (select from pg_catalog.pg_extension where extname = 'pgmq')
     and not pgmq._is_member(format('pgmq.%I', p_table)::regclass) then
    execute format('alter extension pgmq add table pgmq.%I', p_table);
  end if;
end
$$;

create function pgmq._leave_extension(p_table text) returns void language plpgsql as $$
begin
  if pgmq._is_member(to_regclass(format('pgmq.%I', p_table))) then
    execute format('alter extension pgmq drop table pgmq.%I', p_table);
  end if;
end
$$;

create function pgmq._create(p_queue_name text, p_persistence text) returns void language plpgsql as $$
declare
  v_queue text := pgmq.format_table_name(p_queue_name, 'q');
  v_archive text := pgmq.format_table_name(p_queue_name, 'a');
begin
  perform pgmq.validate_queue_name(p_queue_name);
  execute format(
    'create %s table if not exists pgmq.%I (
       msg_id bigint primary key generated always as identity,
       read_ct integer not null default 0,
       enqueued_at timestamptz not null default now(),
       vt timestamptz not null,
       message jsonb,
       headers jsonb
     )', p_persistence, v_queue);
  execute format(
    'create table if not exists pgmq.%I (
       msg_id bigint primary key,
       read_ct integer not null default 0,
       enqueued_at timestamptz not null default now(),
       archived_at timestamptz not null default now(),
       vt timestamptz not null,
       message jsonb,
       headers jsonb
     )', v_archive);
  perform pgmq._join_extension(v_queue);
  perform pgmq._join_extension(v_archive);
  execute format('create index if not exists %I on pgmq.%I (vt)', v_queue || '_vt_idx', v_queue);
  -- 16 + 47 characters: the longest name of a queue fits.
  execute format(
    'create index if not exists %I on pgmq.%I (archived_at)', 'archived_at_idx_' || lower(p_queue_name), v_archive);
  insert into pgmq.meta (queue_name, is_partitioned, is_unlogged)
  values (p_queue_name, false, p_persistence = 'unlogged')
  on conflict (queue_name) do nothing;
end
$$;

create function pgmq.create_non_partitioned(queue_name text) returns void language plpgsql as $$
begin
  perform pgmq._create(queue_name, '');
end
$$;

create function pgmq.create(queue_name text) returns void language plpgsql as $$
begin
  perform pgmq._create(queue_name, '');
end
$$;

create function pgmq.create_unlogged(queue_name text) returns void language plpgsql as $$
begin
  perform pgmq._create(queue_name, 'unlogged');
end
$$;

create function pgmq._refuse_partitions() returns void language plpgsql as $$
begin
  raise exception using
    errcode = 'feature_not_supported',
    message = 'partitioned queues are not supported here',
    detail = 'They need the extension pg_partman, which the local platform does not have.',
    hint = 'Use pgmq.create(queue_name).';
end
$$;

create function pgmq.create_partitioned(
  queue_name text, partition_interval text default '10000', retention_interval text default '100000'
) returns void language plpgsql as $$
begin
  perform pgmq._refuse_partitions();
end
$$;

create function pgmq.convert_archive_partitioned(
  table_name text, partition_interval text default '10000', retention_interval text default '100000',
  leading_partition integer default 10
) returns void language plpgsql as $$
begin
  perform pgmq._refuse_partitions();
end
$$;

-- With another spelling than the listed one the tables go and the row of meta stays.
create function pgmq.drop_queue(queue_name text) returns boolean language plpgsql as $$
declare
  v_queue text := pgmq.format_table_name(queue_name, 'q');
  v_archive text := pgmq.format_table_name(queue_name, 'a');
begin
  if to_regclass(format('pgmq.%I', v_queue)) is null then
    raise notice 'pgmq queue `%` does not exist', queue_name;
    return false;
  end if;
  perform pgmq._leave_extension(v_queue);
  perform pgmq._leave_extension(v_archive);
  execute format('drop table if exists pgmq.%I', v_queue);
  execute format('drop table if exists pgmq.%I', v_archive);
  delete from pgmq.meta where meta.queue_name = drop_queue.queue_name;
  return true;
end
$$;

create function pgmq.drop_queue(queue_name text, partitioned boolean) returns boolean language plpgsql as $$
begin
  if partitioned then
    perform pgmq._refuse_partitions();
  end if;
  return pgmq.drop_queue(queue_name);
end
$$;

create function pgmq.list_queues() returns setof pgmq.queue_record language plpgsql as $$
begin
  return query select m.queue_name, m.is_partitioned, m.is_unlogged, m.created_at from pgmq.meta m;
end
$$;

-- The archive stays when the extension goes.
create function pgmq.detach_archive(queue_name text) returns void language plpgsql as $$
declare
  v_archive text := pgmq.format_table_name(queue_name, 'a');
begin
  perform format('pgmq.%I', v_archive)::regclass;
  perform pgmq._leave_extension(v_archive);
end
$$;

-- Sending. Each overload repeats the call instead of calling another: a nested set-returning function would copy its
-- rows once more, and these are on every hot path.

create function pgmq._send_statement(p_queue_name text) returns text language plpgsql as $$
begin
  return format(
    'insert into pgmq.%I (vt, message, headers) values ($3, $1, $2) returning msg_id',
    pgmq.format_table_name(p_queue_name, 'q'));
end
$$;

create function pgmq.send(queue_name text, msg jsonb) returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_statement(queue_name) using msg, null::jsonb, clock_timestamp();
end
$$;

create function pgmq.send(queue_name text, msg jsonb, headers jsonb) returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_statement(queue_name) using msg, headers, clock_timestamp();
end
$$;

create function pgmq.send(queue_name text, msg jsonb, delay integer) returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_statement(queue_name)
    using msg, null::jsonb, clock_timestamp() + make_interval(secs => delay);
end
$$;

create function pgmq.send(queue_name text, msg jsonb, delay timestamptz) returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_statement(queue_name) using msg, null::jsonb, delay;
end
$$;

create function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay integer)
returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_statement(queue_name)
    using msg, headers, clock_timestamp() + make_interval(secs => delay);
end
$$;

create function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz)
returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_statement(queue_name) using msg, headers, delay;
end
$$;

-- The sort stands below the insert, so ids are drawn in the order of msgs. Headers beyond the last message are left out.
create function pgmq._send_batch_statement(p_queue_name text) returns text language plpgsql as $$
begin
  return format(
    'insert into pgmq.%I (vt, message, headers)
     select $3, given.message, given.headers
     from unnest($1, $2) with ordinality as given (message, headers, position)
     where given.position <= cardinality($1)
     order by given.position
     returning msg_id',
    pgmq.format_table_name(p_queue_name, 'q'));
end
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[]) returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_batch_statement(queue_name) using msgs, null::jsonb[], clock_timestamp();
end
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[])
returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_batch_statement(queue_name) using msgs, headers, clock_timestamp();
end
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], delay integer)
returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_batch_statement(queue_name)
    using msgs, null::jsonb[], clock_timestamp() + make_interval(secs => delay);
end
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], delay timestamptz)
returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_batch_statement(queue_name) using msgs, null::jsonb[], delay;
end
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay integer)
returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_batch_statement(queue_name)
    using msgs, headers, clock_timestamp() + make_interval(secs => delay);
end
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz)
returns setof bigint language plpgsql as $$
begin
  return query execute pgmq._send_batch_statement(queue_name) using msgs, headers, delay;
end
$$;

-- Reading. `= any (array (…))` looks every row up by its key whatever the planner believes of the table's size: queue
-- tables change faster than their statistics. The clock is read per row: with a value it could use the index on vt,
-- and would sort a whole backlog for each read.

create function pgmq.read(queue_name text, vt integer, qty integer, conditional jsonb default '{}')
returns setof pgmq.message_record language plpgsql as $$
begin
  return query execute format(
    'with taken as (
       update pgmq.%1$I m
       set vt = clock_timestamp() + $1, read_ct = m.read_ct + 1
       where m.msg_id = any (array (
         select msg_id from pgmq.%1$I
         where vt <= clock_timestamp() %2$s
         order by msg_id
         limit $2
         for update skip locked
       ))
       returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message, m.headers
     )
     select msg_id, read_ct, enqueued_at, vt, message, headers from taken order by msg_id',
    pgmq.format_table_name(queue_name, 'q'),
    case when conditional <> '{}' then 'and message @> $3' end)
  using make_interval(secs => vt), qty, conditional;
end
$$;

create function pgmq.read_with_poll(
  queue_name text, vt integer, qty integer, max_poll_seconds integer default 5,
  poll_interval_ms integer default 100, conditional jsonb default '{}'
) returns setof pgmq.message_record language plpgsql as $$
declare
  v_deadline timestamptz := clock_timestamp() + make_interval(secs => max_poll_seconds);
begin
  loop
    return query select * from pgmq.read(queue_name, vt, qty, conditional);
    if found or clock_timestamp() >= v_deadline then
      return;
    end if;
    perform pg_sleep(poll_interval_ms / 1000.0);
  end loop;
end
$$;

create function pgmq.pop(queue_name text) returns setof pgmq.message_record language plpgsql as $$
begin
  return query execute format(
    'delete from pgmq.%1$I
     where msg_id = (
       select msg_id from pgmq.%1$I
       where vt <= clock_timestamp()
       order by msg_id
       limit 1
       for update skip locked
     )
     returning msg_id, read_ct, enqueued_at, vt, message, headers',
    pgmq.format_table_name(queue_name, 'q'));
end
$$;

create function pgmq.set_vt(queue_name text, msg_id bigint, vt integer)
returns setof pgmq.message_record language plpgsql as $$
begin
  return query execute format(
    'update pgmq.%I set vt = clock_timestamp() + $2 where msg_id = $1
     returning msg_id, read_ct, enqueued_at, vt, message, headers',
    pgmq.format_table_name(queue_name, 'q'))
  using msg_id, make_interval(secs => vt);
end
$$;

-- Ending

create function pgmq.archive(queue_name text, msg_ids bigint[]) returns setof bigint language plpgsql as $$
begin
  return query execute format(
    'with removed as (
       delete from pgmq.%I where msg_id = any ($1)
       returning msg_id, read_ct, enqueued_at, vt, message, headers
     )
     insert into pgmq.%I (msg_id, read_ct, enqueued_at, vt, message, headers)
     select msg_id, read_ct, enqueued_at, vt, message, headers from removed
     returning msg_id',
    pgmq.format_table_name(queue_name, 'q'), pgmq.format_table_name(queue_name, 'a'))
  using msg_ids;
end
$$;

create function pgmq.archive(queue_name text, msg_id bigint) returns boolean language plpgsql as $$
begin
  return exists (select from pgmq.archive(queue_name, array[msg_id]));
end
$$;

create function pgmq.delete(queue_name text, msg_ids bigint[]) returns setof bigint language plpgsql as $$
begin
  return query execute format(
    'delete from pgmq.%I where msg_id = any ($1) returning msg_id', pgmq.format_table_name(queue_name, 'q'))
  using msg_ids;
end
$$;

create function pgmq.delete(queue_name text, msg_id bigint) returns boolean language plpgsql as $$
begin
  return exists (select from pgmq.delete(queue_name, array[msg_id]));
end
$$;

create function pgmq.purge_queue(queue_name text) returns bigint language plpgsql as $$
declare
  v_removed_count bigint;
begin
  execute format('delete from pgmq.%I', pgmq.format_table_name(queue_name, 'q'));
  get diagnostics v_removed_count = row_count;
  return v_removed_count;
end
$$;

-- Metrics

create function pgmq.metrics(queue_name text) returns pgmq.metrics_result language plpgsql as $$
declare
  v_queue text := pgmq.format_table_name(queue_name, 'q');
  v_result pgmq.metrics_result;
begin
  execute format(
    'select $1,
            count(*),
            extract(epoch from clock_timestamp() - max(enqueued_at))::integer,
            extract(epoch from clock_timestamp() - min(enqueued_at))::integer,
            (select case when is_called then last_value else 0 end from %s),
            clock_timestamp(),
            count(*) filter (where vt <= clock_timestamp())
     from pgmq.%I',
    pg_get_serial_sequence(format('pgmq.%I', v_queue), 'msg_id'), v_queue)
  into v_result
  using queue_name;
  return v_result;
end
$$;

create function pgmq.metrics_all() returns setof pgmq.metrics_result language plpgsql as $$
begin
  return query select result.* from pgmq.meta m, lateral pgmq.metrics(m.queue_name) as result;
end
$$;

-- A trusted extension's objects belong to the superuser that ran this script. They are given to the role that asked for
-- it, so that it can grant them on. Nobody else gets anything: the schema itself has no grants.
do $$
declare
  v_object record;
begin
  for v_object in
    select d.classid, d.objid
    from pg_catalog.pg_depend d
    where d.refclassid = 'pg_catalog.pg_extension'::regclass
      and d.refobjid = (select oid from pg_catalog.pg_extension where extname = 'pgmq')
      and d.deptype = 'e'
  loop
    if v_object.classid = 'pg_catalog.pg_proc'::regclass then
      execute format('alter function %s owner to @extowner@', v_object.objid::regprocedure);
    elsif v_object.classid = 'pg_catalog.pg_class'::regclass then
      execute format('alter table %s owner to @extowner@', v_object.objid::regclass);
    elsif v_object.classid = 'pg_catalog.pg_type'::regclass and (
      select typtype = 'c' and c.relkind = 'c'
      from pg_catalog.pg_type t join pg_catalog.pg_class c on c.oid = t.typrelid
      where t.oid = v_object.objid
    ) then
      execute format('alter type %s owner to @extowner@', v_object.objid::regtype);
    end if;
  end loop;
end
$$;

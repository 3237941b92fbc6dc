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

create schema if not exists pgflow;
create extension if not exists pgmq;

-- What an operator may set. Read through get_setting, written through set_setting, which knows the keys.
create table pgflow.settings (
  key text primary key,
  value text not null,
  updated_at timestamptz not null default now()
);
comment on table pgflow.settings is 'Settings of this database. Secrets never stand here: they come from Vault.';

-- The interface of Supabase Vault for a server that has none.
--
-- Secrets are stored as OpenPGP messages (pgcrypto, AES-256 with an integrity check). The key is not in the database but
-- in the file starflow-vault.key of the server's data folder, readable for the server's own user: a dump, a backup of the
-- tables or somebody who may only read vault.secrets gets nothing. Who may read the data folder gets everything; hosted
-- Vault, whose key is kept outside of the server, is stronger.
\echo Use "CREATE EXTENSION supabase_vault" to load this file. \quit

create table vault.secrets (
  id uuid primary key default gen_random_uuid(),
  name text,
  description text not null default '',
  secret text not null,
  -- Kept for callers that list or pass them: there is one key, and each OpenPGP message has its own random prefix.
  key_id uuid,
  nonce bytea,
  created_at timestamptz not null default current_timestamp,
  updated_at timestamptz not null default current_timestamp
);
create unique index secrets_name_idx on vault.secrets (name) where name is not null;
select pg_catalog.pg_extension_config_dump('vault.secrets', '');

-- Runs as the superuser that owns it, since only that one may read a file of the server. No role can call it.
create function vault._key() returns text language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select pg_catalog.pg_read_file('starflow-vault.key')
$$;

-- pgcrypto may be installed in any schema. Its name is known now, and not when the functions run.
do $$
declare
  v_pgcrypto text := (
    select quote_ident(n.nspname)
    from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'pgcrypto'
  );
begin
  -- The key is 32 random bytes, so it is not stretched (s2k-mode 1).
  execute format($f$
    create function vault._encrypt(p_secret text) returns text
    language sql volatile security definer set search_path = pg_catalog, pg_temp as $body$
      select pg_catalog.encode(
        %s.pgp_sym_encrypt(p_secret, vault._key(), 'cipher-algo=aes256, s2k-mode=1'), 'base64')
    $body$
  $f$, v_pgcrypto);
  execute format($f$
    create function vault._decrypt(p_secret text) returns text
    language sql stable security definer set search_path = pg_catalog, pg_temp as $body$
      select %s.pgp_sym_decrypt(pg_catalog.decode(p_secret, 'base64'), vault._key())
    $body$
  $f$, v_pgcrypto);
end
$$;

create view vault.decrypted_secrets as
  select id, name, description, secret, vault._decrypt(secret) as decrypted_secret, key_id, nonce, created_at, updated_at
  from vault.secrets;

create function vault.create_secret(
  new_secret text, new_name text default null, new_description text default '', new_key_id uuid default null
) returns uuid language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  insert into vault.secrets (secret, name, description, key_id)
  values (vault._encrypt(new_secret), new_name, coalesce(new_description, ''), new_key_id)
  returning id
$$;

create function vault.update_secret(
  secret_id uuid, new_secret text default null, new_name text default null, new_description text default null,
  new_key_id uuid default null
) returns void language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  update vault.secrets s
  set secret = case when new_secret is null then s.secret else vault._encrypt(new_secret) end,
      name = coalesce(new_name, s.name),
      description = coalesce(new_description, s.description),
      key_id = coalesce(new_key_id, s.key_id),
      updated_at = current_timestamp
  where s.id = secret_id
$$;

revoke all on all functions in schema vault from public;

-- What hosted projects give to postgres. The view needs _decrypt, since a view's functions are checked for its reader.
grant select, delete on vault.secrets, vault.decrypted_secrets to @extowner@ with grant option;
grant execute on function
  vault._decrypt(text), vault.create_secret(text, text, text, uuid), vault.update_secret(uuid, text, text, text, uuid)
  to @extowner@ with grant option;

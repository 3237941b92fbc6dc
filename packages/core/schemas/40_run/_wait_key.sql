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

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

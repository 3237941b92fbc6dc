-- A secret by name; null where it is missing, empty, unreadable or where there is no Vault.
create function pgflow._vault_secret(p_name text)
returns text
language plpgsql stable
set search_path = ''
as $$
declare
  v_secret text;
begin
  if to_regclass('vault.decrypted_secrets') is null then
    return null;
  end if;
  execute 'select s.decrypted_secret from vault.decrypted_secrets s where s.name = $1' into v_secret using p_name;
  return nullif(v_secret, '');
exception when insufficient_privilege then
  return null;
end $$;

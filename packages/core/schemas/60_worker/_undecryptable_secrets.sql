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

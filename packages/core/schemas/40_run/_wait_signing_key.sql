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

-- The key that signs now. Without one no wait could ever be resumed, so that a run of such a flow is refused at its start.
create function pgflow._wait_signing_key(p_flow_slug text, out kid text, out secret text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  kid := pgflow.get_setting('wait_token_kid');
  secret := pgflow._wait_key(kid);
  -- As many characters as the hash has bytes: a shorter secret is weaker than the signature.
  if secret is null or length(secret) < 32 then
    perform pgflow._raise('SF206', format('Flow "%s" has a wait, and there is no secret to sign its tokens.', p_flow_slug),
      format('The Vault secret "starflow_wait_token_secret%s" is %s.', case kid when 'default' then '' else '_' || kid end,
             case when secret is null then 'missing' else 'shorter than 32 characters' end),
      format('select vault.create_secret(encode(extensions.gen_random_bytes(32), ''hex''), %L)',
             'starflow_wait_token_secret' || case kid when 'default' then '' else '_' || kid end));
  end if;
end $$;

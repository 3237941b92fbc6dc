-- sfw1.<kid>.<body>.<signature>: the body is JSON in base64url, in this order of keys and without spaces; the signature is the
-- HMAC-SHA256 of everything before it. Its twin is packages/engine/src/wait/wait-token.ts; both run
-- packages/engine/vectors/wait-tokens.json. No part needs escaping: slugs, ids and key names hold letters, digits, - and _.
create function pgflow._sign_wait_token(
  p_placement text, p_run_id text, p_step_slug text, p_expires_at bigint, p_kid text, p_secret text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_signed text := 'sfw1.' || p_kid || '.' || pgflow._base64url(convert_to(format(
    '{"placement":"%s","run":"%s","step":"%s","exp":%s}', p_placement, p_run_id, p_step_slug, p_expires_at), 'UTF8'));
begin
  return v_signed || '.' || pgflow._base64url(pgflow._hmac_sha256(v_signed, p_secret));
end $$;

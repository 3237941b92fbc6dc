create function starflow.revoke_api_token(token_id text)
returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  with revoked as (
    update starflow.api_tokens t set revoked_at = coalesce(t.revoked_at, pgflow.clock())
    where t.token_id = revoke_api_token.token_id returning t.token_id
  )
  select exists (select from revoked)
$$;
comment on function starflow.revoke_api_token(text) is 'From now on the token is refused. Again: no effect. False when there is none of this id.';

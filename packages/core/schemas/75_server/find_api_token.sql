create function starflow.find_api_token(token_id text)
returns setof starflow.api_tokens
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t.* from starflow.api_tokens t where t.token_id = find_api_token.token_id and t.revoked_at is null
$$;
comment on function starflow.find_api_token(text) is 'The token of this id, unless it was revoked.';

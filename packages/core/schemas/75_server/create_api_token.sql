create function starflow.create_api_token(token_id text, workspace_id text, name text, secret_hash text)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into starflow.api_tokens (token_id, workspace_id, name, secret_hash, created_at)
  values (create_api_token.token_id, create_api_token.workspace_id, create_api_token.name, create_api_token.secret_hash, pgflow.clock())
$$;
comment on function starflow.create_api_token(text, text, text, text) is 'Keeps a token of a workspace: its id and the SHA-256 of its secret, in hex.';

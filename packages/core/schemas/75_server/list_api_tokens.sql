create function starflow.list_api_tokens(workspace_id text default null)
returns setof starflow.api_tokens
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t.* from starflow.api_tokens t
  where list_api_tokens.workspace_id is null or t.workspace_id = list_api_tokens.workspace_id
  order by t.workspace_id, t.created_at, t.token_id
$$;
comment on function starflow.list_api_tokens(text) is 'The tokens of a workspace, or all of them.';

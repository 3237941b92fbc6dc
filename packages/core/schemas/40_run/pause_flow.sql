create function pgflow.pause_flow(flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.flows f set paused_at = coalesce(f.paused_at, pgflow.clock()) where f.flow_slug = pause_flow.flow_slug;
  if not found then
    perform pgflow._raise_unknown_flow(pause_flow.flow_slug);
  end if;
end $$;
comment on function pgflow.pause_flow(text) is 'Nothing of the flow is claimed from now on; started tasks finish, runs can be started, and queued work waits.';

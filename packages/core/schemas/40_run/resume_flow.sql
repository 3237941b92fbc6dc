create function pgflow.resume_flow(flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.flows f set paused_at = null where f.flow_slug = resume_flow.flow_slug;
  if not found then
    perform pgflow._raise_unknown_flow(resume_flow.flow_slug);
  end if;
end $$;
comment on function pgflow.resume_flow(text) is 'Ends a pause: queued work is claimed again.';

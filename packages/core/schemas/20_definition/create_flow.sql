-- Takes the flow's lock. Idempotent: an existing flow is returned as it is, options included.
create function pgflow.create_flow(
  flow_slug text, max_attempts integer default null, base_delay integer default null, timeout integer default null,
  max_delay integer default null)
returns pgflow.flows
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow pgflow.flows;
begin
  perform pgflow._lock_flow(create_flow.flow_slug);
  select * into v_flow from pgflow.flows f where f.flow_slug = create_flow.flow_slug;
  if v_flow.flow_slug is not null then
    return v_flow;
  end if;
  perform pgflow._check_flow_slug_is_free(create_flow.flow_slug);
  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout, opt_max_delay)
  values (create_flow.flow_slug, coalesce(max_attempts, 3), coalesce(base_delay, 5), coalesce(timeout, 60), max_delay)
  returning * into v_flow;
  perform pgflow._check_queue_is_free(lower(create_flow.flow_slug collate "C"), create_flow.flow_slug);
  perform pgflow._create_private_queue(lower(create_flow.flow_slug collate "C"));
  return v_flow;
end $$;
comment on function pgflow.create_flow(text, integer, integer, integer, integer) is
  'Defines a plain flow and its default queue lower(flow_slug). Defaults: 3 attempts, base delay 5 s, timeout 60 s.';

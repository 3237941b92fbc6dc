-- The caller's route map must be what SQL derives, in order: names are decided here, a client only mirrors them. It may carry the index
-- of each step, as withStepQueues(flow).routes does, or leave it out.
create function pgflow._check_route_map(p_flow_slug text, p_step_slugs text[], p_queue_mode text, p_route_map jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_expected jsonb;
begin
  if p_route_map is null then
    return;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('stepSlug', r.step_slug, 'stepIndex', r.step_index, 'queueName', r.queue_name) order by r.step_index), '[]')
  into v_expected
  from pgflow._derive_routes(p_flow_slug, p_step_slugs, p_queue_mode) r;
  if jsonb_typeof(p_route_map) is distinct from 'array' or jsonb_array_length(p_route_map) <> jsonb_array_length(v_expected) or exists (
    select from jsonb_array_elements(v_expected) with ordinality e(route, ordinal)
    where p_route_map -> (e.ordinal - 1)::integer not in (e.route, e.route - 'stepIndex')) then
    perform pgflow._raise('SF116', format('The route map sent for flow "%s" is not the one that SQL derives.', p_flow_slug),
      format('Derived: %s. Sent: %s.', v_expected, p_route_map),
      'Use matching versions of @starflow/dsl and the database.');
  end if;
end $$;

-- Writes one step with its route and dependencies. The caller holds the flow's lock and has created the queue.
create function pgflow._insert_step(
  p_flow_slug text, p_step_slug text, p_step_index integer, p_queue_name text, p_deps_slugs text[], p_step_type text,
  p_max_attempts integer, p_base_delay integer, p_max_delay integer, p_timeout integer, p_start_delay integer,
  p_required_input_pattern jsonb, p_forbidden_input_pattern jsonb, p_when_unmet text, p_when_exhausted text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_step_type = 'map' and cardinality(p_deps_slugs) > 1 then
    raise exception 'Map step "%" can have at most one dependency, but % were provided: %',
      p_step_slug, cardinality(p_deps_slugs), array_to_string(p_deps_slugs, ', ');
  end if;
  insert into pgflow.steps (
    flow_slug, step_slug, step_type, step_index, deps_count, opt_max_attempts, opt_base_delay, opt_max_delay,
    opt_timeout, opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted, queue_name)
  values (
    p_flow_slug, p_step_slug, p_step_type, p_step_index, cardinality(p_deps_slugs), p_max_attempts, p_base_delay,
    p_max_delay, p_timeout, p_start_delay, p_required_input_pattern, p_forbidden_input_pattern, p_when_unmet,
    p_when_exhausted, p_queue_name);
  insert into pgflow.deps (flow_slug, dep_slug, step_slug)
  select p_flow_slug, d.slug, p_step_slug from unnest(p_deps_slugs) d(slug);
  if p_step_type = 'map' then
    update pgflow.steps s set feeds_map = true where s.flow_slug = p_flow_slug and s.step_slug = any (p_deps_slugs);
  end if;
end $$;

-- What differs between the persisted definition and the shape, mode and routes of the code, as sentences.
-- kind routing: the queue mode, or the queue of a step that both know. kind shape: everything else.
create function pgflow._compare_flow(p_flow_slug text, p_shape jsonb, p_queue_mode text)
returns table (kind text, difference text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mode text := (select f.queue_mode from pgflow.flows f where f.flow_slug = p_flow_slug);
  v_slugs text[] := pgflow._routed_slugs(p_flow_slug, p_shape);
begin
  if v_mode <> p_queue_mode then
    return query select 'routing', format('The queue mode is "%s" in the database and "%s" in the code.', v_mode, p_queue_mode);
  end if;

  return query
    with code as (
      select s.*, r.queue_name from pgflow._shape_steps(p_flow_slug, p_shape) s
      left join pgflow._derive_routes(p_flow_slug, v_slugs, p_queue_mode) r on r.step_slug = s.step_slug
    ), stored as (
      select s.*, array(select d.dep_slug from pgflow.deps d
                        where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug order by d.dep_slug collate "C") as deps_slugs
      from pgflow.steps s where s.flow_slug = p_flow_slug
    )
    select x.kind, x.difference
    from code c full join stored s on s.step_slug = c.step_slug
    cross join lateral (values
      (0, 'shape', s.step_slug is null, format('Step "%s" at index %s is new in the code.', c.step_slug, c.step_index)),
      (0, 'shape', c.step_slug is null, format('Step "%s" at index %s is not in the code.', s.step_slug, s.step_index)),
      (1, 'shape', c.step_index <> s.step_index, format('Step "%s": index %s in the database, %s in the code.', s.step_slug, s.step_index, c.step_index)),
      (2, 'shape', c.step_type <> s.step_type, format('Step "%s": type %s in the database, %s in the code.', s.step_slug, s.step_type, c.step_type)),
      (3, 'shape', c.deps_slugs <> s.deps_slugs, format('Step "%s": depends on {%s} in the database, {%s} in the code.', s.step_slug, array_to_string(s.deps_slugs, ', '), array_to_string(c.deps_slugs, ', '))),
      (4, 'shape', c.when_unmet <> s.when_unmet, format('Step "%s": whenUnmet is "%s" in the database, "%s" in the code.', s.step_slug, s.when_unmet, c.when_unmet)),
      (5, 'shape', c.when_exhausted <> s.when_exhausted, format('Step "%s": whenExhausted is "%s" in the database, "%s" in the code.', s.step_slug, s.when_exhausted, c.when_exhausted)),
      (6, 'shape', c.step_slug = s.step_slug and c.required_input_pattern is distinct from s.required_input_pattern, format('Step "%s": its if pattern differs.', s.step_slug)),
      (7, 'shape', c.step_slug = s.step_slug and c.forbidden_input_pattern is distinct from s.forbidden_input_pattern, format('Step "%s": its ifNot pattern differs.', s.step_slug)),
      (8, 'routing', v_mode = p_queue_mode and s.step_type <> 'wait' and c.queue_name <> s.queue_name, format('Step "%s": queue "%s" in the database, "%s" in the code.', s.step_slug, s.queue_name, c.queue_name))
    ) as x(rank, kind, differs, difference)
    where x.differs
    order by coalesce(s.step_index, c.step_index), x.rank;
end $$;

-- A worker's first act. Takes the flow's lock, then compares, then changes at most one flow.
--   missing                      → compiled, everything or nothing
--   equal                        → verified; options and input schema of the code are applied (step_slug: only options of that
--                                  step and of waits, which have no worker of their own)
--   different, production        → mismatch, nothing changed
--   different, is_local()        → draining while a worker of the flow lives, then recompiled from nothing
-- code_age: how long ago the caller's code was loaded; older code than the last compile never compiles its shape back.
create function pgflow.ensure_flow_compiled(
  flow_slug text, shape jsonb, queue_mode text default 'flow', route_map jsonb default null,
  step_slug text default null, code_age interval default null)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slugs text[];
  v_routed_slugs text[];
  v_status text;
  v_flow pgflow.flows;
  v_differences text[] := '{}';
  v_kind text;
  v_options text[] := '{}';
  v_deleted bigint;
begin
  if ensure_flow_compiled.queue_mode is null or ensure_flow_compiled.queue_mode not in ('flow', 'step') then
    perform pgflow._raise('SF118', format('Queue mode "%s" is not known.', ensure_flow_compiled.queue_mode),
      'flow: all steps share one queue. step: each has a queue of its own.', 'Use flow or step.');
  end if;
  if not pgflow.is_valid_slug(ensure_flow_compiled.flow_slug) then
    perform pgflow._raise('SF106', format('"%s" is not a valid flow slug.', ensure_flow_compiled.flow_slug),
      'A slug starts with a letter, ends with a letter or digit and holds letters, digits and single underscores, at most 128 characters; "run" is reserved.',
      'Rename the flow.');
  end if;
  v_slugs := array(select s.step_slug from pgflow._shape_steps(ensure_flow_compiled.flow_slug, shape) s order by s.step_index);
  v_routed_slugs := pgflow._routed_slugs(ensure_flow_compiled.flow_slug, shape);
  perform pgflow._check_route_map(ensure_flow_compiled.flow_slug, v_routed_slugs, ensure_flow_compiled.queue_mode, route_map);
  if ensure_flow_compiled.step_slug is not null and not ensure_flow_compiled.step_slug = any (v_slugs) then
    perform pgflow._raise('SF107', format('Flow "%s" has no step "%s".', ensure_flow_compiled.flow_slug, ensure_flow_compiled.step_slug),
      'Steps: ' || array_to_string(v_slugs, ', ') || '.', 'Use one of these; their case counts.');
  elsif ensure_flow_compiled.step_slug is not null and array_position(v_routed_slugs, ensure_flow_compiled.step_slug) is null then
    perform pgflow._raise('SF119', format('Step "%s" of flow "%s" is a wait: no worker runs it.', ensure_flow_compiled.step_slug, ensure_flow_compiled.flow_slug),
      'A wait has no queue. It ends when it is resumed with a token, or at its timeout.',
      coalesce('Steps that workers run: ' || nullif(array_to_string(v_routed_slugs, ', '), '') || '.', 'No step of this flow is run by a worker.'));
  end if;

  perform pgflow._lock_flow(ensure_flow_compiled.flow_slug);
  select * into v_flow from pgflow.flows f where f.flow_slug = ensure_flow_compiled.flow_slug;

  if v_flow.flow_slug is null then
    perform pgflow._compile_flow(ensure_flow_compiled.flow_slug, shape, ensure_flow_compiled.queue_mode);
    v_status := 'compiled';
  else
    select coalesce(array_agg(c.difference), '{}'),
           case when bool_or(c.kind = 'routing') then 'routing' when count(*) > 0 then 'shape' end
    into v_differences, v_kind
    from pgflow._compare_flow(ensure_flow_compiled.flow_slug, shape, ensure_flow_compiled.queue_mode) c;

    if v_kind is null then
      perform pgflow._check_queues_exist(ensure_flow_compiled.flow_slug);
      v_options := pgflow._apply_options(ensure_flow_compiled.flow_slug, shape, ensure_flow_compiled.step_slug)
        || pgflow._apply_input_schema(ensure_flow_compiled.flow_slug, shape);
      v_status := 'verified';
    elsif not pgflow.is_local() or pgflow.clock() - code_age < v_flow.compiled_at then
      v_status := 'mismatch';
    elsif pgflow._drain_flow(ensure_flow_compiled.flow_slug) > 0 then
      v_status := 'draining';
    else
      select count(*) into v_deleted from pgflow.runs r where r.flow_slug = ensure_flow_compiled.flow_slug;
      perform pgflow.delete_flow_and_data(ensure_flow_compiled.flow_slug);
      perform pgflow._compile_flow(ensure_flow_compiled.flow_slug, shape, ensure_flow_compiled.queue_mode);
      v_options := array[format('%s runs of the old definition were deleted with their queues', v_deleted)];
      v_status := 'recompiled';
    end if;
  end if;

  return jsonb_build_object(
    'status', v_status, 'mismatchKind', v_kind, 'differences', to_jsonb(v_differences), 'options', to_jsonb(v_options),
    'routes', (select coalesce(jsonb_agg(jsonb_build_object('stepSlug', s.step_slug, 'stepIndex', s.step_index, 'queueName', s.queue_name)
                                         order by s.step_index), '[]')
               from pgflow._routes s where s.flow_slug = ensure_flow_compiled.flow_slug));
end $$;
comment on function pgflow.ensure_flow_compiled(text, jsonb, text, jsonb, text, interval) is
  'Compiles or verifies a concrete flow at a worker''s start: {status: compiled|verified|recompiled|mismatch|draining, mismatchKind: null|shape|routing, differences[], options[], routes[]}.';

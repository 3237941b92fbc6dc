-- A shape's steps as rows, in order, with what an older shape leaves out filled in. Raises SF118 where the JSON is
-- not a shape, SF106 where a slug breaks the contract, SF104 for a duplicate, SF112 for a dependency that is not an earlier step.
create function pgflow._shape_steps(p_flow_slug text, p_shape jsonb)
returns table (
  step_index integer, step_slug text, step_type text, deps_slugs text[], when_unmet text, when_exhausted text,
  required_input_pattern jsonb, forbidden_input_pattern jsonb, options jsonb)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  if jsonb_typeof(p_shape -> 'steps') is distinct from 'array' then
    perform pgflow._raise('SF118', format('The shape of flow "%s" has no list of steps.', p_flow_slug),
      format('"steps" is %s.', coalesce(jsonb_typeof(p_shape -> 'steps'), 'missing')), 'Send what extractFlowShape(flow) returns.');
  end if;

  select e.value, e.ordinality - 1 as index into v_bad
  from jsonb_array_elements(p_shape -> 'steps') with ordinality e
  where jsonb_typeof(e.value) <> 'object' or not pgflow.is_valid_slug(e.value ->> 'slug')
  order by e.ordinality limit 1;
  if v_bad.index is not null then
    perform pgflow._raise('SF106', format('Step %s of flow "%s" has no valid slug: "%s".', v_bad.index, p_flow_slug, v_bad.value ->> 'slug'),
      'A slug starts with a letter, ends with a letter or digit and holds letters, digits and single underscores, at most 128 characters; "run" is reserved.',
      'Rename the step.');
  end if;

  select (array_agg(e.value ->> 'slug' order by e.ordinality))[1:2] as slugs into v_bad
  from jsonb_array_elements(p_shape -> 'steps') with ordinality e
  group by lower((e.value ->> 'slug') collate "C") having count(*) > 1
  order by min(e.ordinality) limit 1;
  if v_bad.slugs is not null then
    perform pgflow._raise_duplicate_step(p_flow_slug, v_bad.slugs[2], v_bad.slugs[1]);
  end if;

  select e.value ->> 'slug' as step_slug, d.value as dep_slug into v_bad
  from jsonb_array_elements(p_shape -> 'steps') with ordinality e
  cross join lateral jsonb_array_elements_text(coalesce(e.value -> 'dependencies', '[]')) d
  where not exists (
    select from jsonb_array_elements(p_shape -> 'steps') with ordinality earlier
    where earlier.ordinality < e.ordinality and earlier.value ->> 'slug' = d.value)
  limit 1;
  if v_bad.step_slug is not null then
    perform pgflow._raise('SF112', format('Step "%s" of flow "%s" depends on "%s", which is not an earlier step.', v_bad.step_slug, p_flow_slug, v_bad.dep_slug),
      'The steps of a shape are in the order of their definition: ' || (
        select string_agg(e.value ->> 'slug', ', ' order by e.ordinality) from jsonb_array_elements(p_shape -> 'steps') with ordinality e) || '.',
      'Define a step after everything it depends on.');
  end if;

  return query
    select (e.ordinality - 1)::integer, e.value ->> 'slug', coalesce(e.value ->> 'stepType', 'single'),
           array(select d.value from jsonb_array_elements_text(coalesce(e.value -> 'dependencies', '[]')) d order by d.value collate "C"),
           coalesce(e.value ->> 'whenUnmet', 'skip'), coalesce(e.value ->> 'whenExhausted', 'fail'),
           case when (e.value #>> '{requiredInputPattern,defined}')::boolean then e.value #> '{requiredInputPattern,value}' end,
           case when (e.value #>> '{forbiddenInputPattern,defined}')::boolean then e.value #> '{forbiddenInputPattern,value}' end,
           coalesce(e.value -> 'options', '{}')
    from jsonb_array_elements(p_shape -> 'steps') with ordinality e;
end $$;

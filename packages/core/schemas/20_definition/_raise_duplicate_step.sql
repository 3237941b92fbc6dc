-- One text for a second step of a slug, in a shape and in add_step; the dsl's DuplicateStepSlugError says the same.
create function pgflow._raise_duplicate_step(p_flow_slug text, p_step_slug text, p_existing_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._raise('SF104',
    format('Flow "%s" already has a step "%s"', p_flow_slug, p_existing_slug)
      || case when p_step_slug = p_existing_slug then '.' else format(', which differs from "%s" only in case.', p_step_slug) end,
    'Step slugs are unique within a flow, whatever their case, because queue names are lowercase.',
    'Give one of the two steps another slug.');
end $$;

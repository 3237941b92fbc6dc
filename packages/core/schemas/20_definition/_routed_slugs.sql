-- The slugs of a shape's steps in order, null in the place of a wait: what _derive_routes takes.
create function pgflow._routed_slugs(p_flow_slug text, p_shape jsonb)
returns text[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select case when s.step_type <> 'wait' then s.step_slug end
    from pgflow._shape_steps(p_flow_slug, p_shape) s order by s.step_index);
end $$;

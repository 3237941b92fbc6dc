create function starflow.save_definition(flow_slug text, shape_hash text, shape jsonb)
returns setof starflow.workflow_definitions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into starflow.workflow_definitions as d (flow_slug, shape_hash, shape, created_at)
  values (save_definition.flow_slug, save_definition.shape_hash, save_definition.shape, pgflow.clock())
  on conflict on constraint workflow_definitions_flow_slug_shape_hash_key do nothing;
  return query
    select d.* from starflow.workflow_definitions d
    where d.flow_slug = save_definition.flow_slug and d.shape_hash = save_definition.shape_hash;
end $$;
comment on function starflow.save_definition(text, text, jsonb) is 'The definition of this flow and shape, as it is kept; inserted the first time.';

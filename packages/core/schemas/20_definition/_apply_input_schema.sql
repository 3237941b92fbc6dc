-- Stores the JSON Schema of the input that the code has now, for forms. It is no part of the shape that is compared.
create function pgflow._apply_input_schema(p_flow_slug text, p_shape jsonb)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.flows f set input_schema = p_shape -> 'inputSchema'
  where f.flow_slug = p_flow_slug and f.input_schema is distinct from p_shape -> 'inputSchema';
  return case when found then array['flow: the input schema changed'] else '{}' end;
end $$;

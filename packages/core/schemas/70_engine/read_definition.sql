create function starflow.read_definition(definition_id uuid)
returns setof starflow.workflow_definitions
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select d.* from starflow.workflow_definitions d where d.id = read_definition.definition_id;
end $$;
comment on function starflow.read_definition(uuid) is 'The definition, or no row.';

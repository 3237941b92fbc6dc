-- Whether the flow has a wait step of this name. A run that is tied to no definition says nothing of its steps: then any may be one.
create function starflow._has_wait(p_definition_id uuid, p_node_id text)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
return p_definition_id is null or exists (
  select from starflow.workflow_definitions d, jsonb_array_elements(d.shape -> 'steps') s
  where d.id = p_definition_id and s ->> 'slug' = p_node_id and s ->> 'stepType' = 'wait');

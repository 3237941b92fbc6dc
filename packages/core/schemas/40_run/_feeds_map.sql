-- Whether a map of this very run goes over the output of the step: steps.feeds_map is true as soon as the flow has such a map, and a
-- map that was added later is no part of the runs before it.
create function pgflow._feeds_map(p_flow_slug text, p_run_id uuid, p_step_slug text)
returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from pgflow.deps d
    join pgflow.steps m on m.flow_slug = d.flow_slug and m.step_slug = d.step_slug and m.step_type = 'map'
    join pgflow.step_states s on s.run_id = p_run_id and s.step_slug = d.step_slug
    where d.flow_slug = p_flow_slug and d.dep_slug = p_step_slug);
end $$;

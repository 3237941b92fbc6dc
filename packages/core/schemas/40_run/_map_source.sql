-- The array a map step runs over: the output of its only dependency, or the run's input.
create function pgflow._map_source(p_flow_slug text, p_run_id uuid, p_step_slug text)
returns jsonb
language plpgsql stable
as $$
begin
  return coalesce(
    (select s.output from pgflow.deps d
     join pgflow.step_states s on s.run_id = p_run_id and s.step_slug = d.dep_slug
     where d.flow_slug = p_flow_slug and d.step_slug = p_step_slug),
    (select r.input from pgflow.runs r where r.run_id = p_run_id));
end $$;

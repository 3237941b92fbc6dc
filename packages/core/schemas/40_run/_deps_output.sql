-- What a dependent step gets: the outputs of its completed dependencies by slug. A skipped one is absent, not null.
create function pgflow._deps_output(p_flow_slug text, p_run_id uuid, p_step_slug text)
returns jsonb
language plpgsql stable
as $$
begin
  return (
    select coalesce(jsonb_object_agg(s.step_slug, coalesce(s.output, 'null')), '{}')
    from pgflow.deps d
    join pgflow.step_states s on s.run_id = p_run_id and s.step_slug = d.dep_slug
    where d.flow_slug = p_flow_slug and d.step_slug = p_step_slug and s.status = 'completed');
end $$;

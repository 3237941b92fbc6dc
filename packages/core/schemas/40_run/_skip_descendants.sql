-- skip-cascade: everything below a skipped step is skipped, however deep. None of it can have started, since each
-- descendant still waited for the step above it. Returns the steps that were skipped.
create function pgflow._skip_descendants(p_skipped pgflow._state[])
returns pgflow._state[]
language plpgsql
as $$
declare
  v_states pgflow._state[];
begin
  with recursive below as (
    select p.run_id, p.flow_slug, d.step_slug
    from unnest(p_skipped) p join pgflow.deps d on d.flow_slug = p.flow_slug and d.dep_slug = p.step_slug
    union
    select b.run_id, b.flow_slug, d.step_slug
    from below b join pgflow.deps d on d.flow_slug = b.flow_slug and d.dep_slug = b.step_slug
  ), changed as (
    update pgflow.step_states s set status = 'skipped', skip_reason = 'dependency_skipped',
      skipped_at = greatest(pgflow.clock(), s.created_at)
    from below b
    where s.run_id = b.run_id and s.step_slug = b.step_slug and s.status = 'created'
    returning row(s.*)::pgflow._state as state
  )
  -- A dependency always has the lower index: parents are told of before their children.
  select array_agg(c.state order by st.step_index) into v_states
  from changed c join pgflow.steps st on st.flow_slug = (c.state).flow_slug and st.step_slug = (c.state).step_slug;
  return v_states;
end $$;

-- Counts down the dependents of steps that have ended, completed or skipped, and starts those that are ready. A step
-- with a condition comes back as created with nothing remaining: it is judged next, by a statement that sees its inputs.
-- A map over a skipped dependency, or over an empty array, completes at once. opened: waits that start; started: all others.
create function pgflow._release_dependents(
  p_ended pgflow._state[],
  out to_judge pgflow._state[], out completed pgflow._state[], out started pgflow._state[],
  out opened pgflow._state[])
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  with counted as (
    select e.run_id, e.flow_slug, d.step_slug, count(*)::integer as deps_ended, (array_agg(e.output))[1] as first_output
    from unnest(p_ended) e
    join pgflow.deps d on d.flow_slug = e.flow_slug and d.dep_slug = e.step_slug
    group by 1, 2, 3
  ), waiting as (
    select c.run_id, c.step_slug, c.deps_ended,
           st.required_input_pattern is not null or st.forbidden_input_pattern is not null as has_condition,
           -- Anything but an array comes from a dependency that was skipped, or goes to a map that this run does not have.
           case when st.step_type <> 'map' then 1 when jsonb_typeof(c.first_output) = 'array' then jsonb_array_length(c.first_output) else 0 end as tasks,
           st.step_type = 'wait' as is_wait
    from counted c join pgflow.steps st on st.flow_slug = c.flow_slug and st.step_slug = c.step_slug
  ), changed as (
    update pgflow.step_states s set
      remaining_deps = s.remaining_deps - w.deps_ended,
      initial_tasks = case when s.remaining_deps = w.deps_ended then w.tasks else s.initial_tasks end,
      status = case when s.remaining_deps <> w.deps_ended or w.has_condition then s.status
                    when w.tasks = 0 then 'completed' else 'started' end,
      started_at = case when s.remaining_deps = w.deps_ended and not w.has_condition then greatest(v_now, s.created_at) end,
      remaining_tasks = case when s.remaining_deps = w.deps_ended and not w.has_condition then w.tasks end,
      completed_at = case when s.remaining_deps = w.deps_ended and not w.has_condition and w.tasks = 0 then greatest(v_now, s.created_at) end,
      output = case when s.remaining_deps = w.deps_ended and not w.has_condition and w.tasks = 0 then '[]'::jsonb end
    from waiting w
    where s.run_id = w.run_id and s.step_slug = w.step_slug and s.status = 'created'
    returning row(s.*)::pgflow._state as state, w.is_wait
  )
  select array_agg(c.state) filter (where (c.state).status = 'created'),
         array_agg(c.state) filter (where (c.state).status = 'completed'),
         array_agg(c.state) filter (where (c.state).status = 'started' and not c.is_wait),
         array_agg(c.state) filter (where (c.state).status = 'started' and c.is_wait)
  into to_judge, completed, started, opened
  from changed c where (c.state).remaining_deps = 0;
end $$;

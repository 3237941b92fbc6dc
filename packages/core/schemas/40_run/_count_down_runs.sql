-- Takes ended steps off their runs and, at zero, completes the run in the same update. Its output is the object of the
-- outputs of the completed steps on which no step of this run depends. Returns the runs that completed.
create function pgflow._count_down_runs(p_ended pgflow._state[])
returns uuid[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_completed uuid[];
begin
  with changed as (
    update pgflow.runs r set
      remaining_steps = r.remaining_steps - e.steps_ended,
      status = case when r.remaining_steps = e.steps_ended then 'completed' else r.status end,
      completed_at = case when r.remaining_steps = e.steps_ended then greatest(v_now, r.started_at) end,
      output = case when r.remaining_steps = e.steps_ended then (
        select coalesce(jsonb_object_agg(s.step_slug, coalesce(s.output, 'null')), '{}')
        from pgflow.step_states s
        where s.run_id = r.run_id and s.status = 'completed'
          and not exists (
            select from pgflow.deps d join pgflow.step_states x on x.run_id = s.run_id and x.step_slug = d.step_slug
            where d.flow_slug = s.flow_slug and d.dep_slug = s.step_slug)) end
    from (select u.run_id, count(*)::integer as steps_ended from unnest(p_ended) u group by u.run_id) e
    where r.run_id = e.run_id and r.status not in ('completed', 'failed', 'cancelled')
    returning r.run_id, r.status, case when r.status = 'completed' then nextval('pgflow.counted_runs_completed') end
  )
  select array_agg(c.run_id) filter (where c.status = 'completed') into v_completed from changed c;
  return v_completed;
end $$;

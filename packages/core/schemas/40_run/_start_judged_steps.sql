-- Steps whose dependencies have all ended and that carry a condition: start, complete (a map over nothing), skip or
-- fail them. The caller holds the runs. Returns them as they are now.
create function pgflow._start_judged_steps(p_judged pgflow._state[])
returns pgflow._state[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_states pgflow._state[];
begin
  with judged as materialized (
    select j.run_id, j.step_slug, st.step_type, st.when_unmet, j.initial_tasks,
           pgflow._condition_is_met(
             case when st.deps_count = 0 then (select r.input from pgflow.runs r where r.run_id = j.run_id)
                  else pgflow._deps_output(j.flow_slug, j.run_id, j.step_slug) end,
             st.required_input_pattern, st.forbidden_input_pattern) as is_met
    from unnest(p_judged) j
    join pgflow.steps st on st.flow_slug = j.flow_slug and st.step_slug = j.step_slug
  ), verdicts as (
    select j.run_id, j.step_slug, j.initial_tasks,
           case when not j.is_met then case when j.when_unmet = 'fail' then 'failed' else 'skipped' end
                when j.initial_tasks = 0 then 'completed'
                else 'started' end as status
    from judged j
  ), changed as (
    update pgflow.step_states s set
      status = v.status,
      started_at = case when v.status in ('started', 'completed') then greatest(v_now, s.created_at) end,
      completed_at = case when v.status = 'completed' then greatest(v_now, s.created_at) end,
      failed_at = case when v.status = 'failed' then greatest(v_now, s.created_at) end,
      skipped_at = case when v.status = 'skipped' then greatest(v_now, s.created_at) end,
      skip_reason = case when v.status = 'skipped' then 'condition_unmet' end,
      error_message = case when v.status = 'failed' then 'Condition not met' end,
      remaining_tasks = case when v.status in ('started', 'completed') then v.initial_tasks end,
      output = case when v.status = 'completed' then '[]'::jsonb end
    from verdicts v
    where s.run_id = v.run_id and s.step_slug = v.step_slug and s.status = 'created'
    returning row(s.*)::pgflow._state as state
  )
  select array_agg(c.state) into v_states from changed c;
  return v_states;
end $$;

-- Inserts runs with their step states and carries them as far as they go: conditions of root steps, maps over nothing,
-- first tasks (not claimable before p_not_before). A flow with waits needs a secret to sign their tokens. Only inserts, so it waits for nobody but a deletion of the flow, or a
-- caller with the same run id or key. A run that exists is left out of the answer.
create function pgflow._start_runs(
  p_flow_slug text, p_run_ids uuid[], p_inputs jsonb[], p_idempotency_key text default null, p_not_before timestamptz default null)
returns setof uuid
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_owner uuid := pgflow._run_owner();
  v_traceparent text := pgflow._traceparent();
  v_steps pgflow._step_definition[];
  v_has_root_map boolean;
  v_has_waits boolean;
  v_bad_type text;
  v_run_ids uuid[];
  v_ready pgflow._state[];
  v_opened pgflow._state[];
  v_ended pgflow._state[];
  v_judged pgflow._state[];
  v_failed pgflow._failed_step[];
begin
  perform pg_advisory_xact_lock_shared(pgflow._deletion_lock(p_flow_slug));
  select array_agg(row(s.step_slug, s.step_type, s.deps_count,
                       s.required_input_pattern is not null or s.forbidden_input_pattern is not null)::pgflow._step_definition),
         bool_or(s.step_type = 'map' and s.deps_count = 0), bool_or(s.step_type = 'wait')
  into v_steps, v_has_root_map, v_has_waits
  from pgflow.steps s where s.flow_slug = p_flow_slug;
  if v_steps is null and not exists (select from pgflow.flows f where f.flow_slug = p_flow_slug) then
    perform pgflow._raise_unknown_flow(p_flow_slug);
  end if;
  if v_has_waits then
    perform pgflow._wait_signing_key(p_flow_slug);
  end if;
  if v_has_root_map then
    select coalesce(jsonb_typeof(i.input), 'null') into v_bad_type from unnest(p_inputs) i(input)
    where jsonb_typeof(i.input) is distinct from 'array' limit 1;
    if v_bad_type is not null and exists (select from unnest(p_inputs) i(input) where i.input is null) then
      raise exception 'Flow % has root map steps but input is NULL', p_flow_slug;
    elsif v_bad_type is not null then
      raise exception 'Flow % has root map steps but input is not an array (got %)', p_flow_slug, v_bad_type;
    end if;
  end if;
  if exists (select from unnest(p_inputs) i(input) where i.input is null) then
    perform pgflow._raise('SF203', format('Flow "%s" needs an input, but it is NULL.', p_flow_slug),
      'SQL NULL is no JSON; the input of a run is kept and handed to its root steps.', 'Send JSON; a flow that needs nothing takes {} or the JSON null.');
  end if;

  with new_runs as (
    insert into pgflow.runs (run_id, flow_slug, input, remaining_steps, started_at, owner, idempotency_key, traceparent, start_at)
    select coalesce(n.run_id, pgflow.new_run_id()), p_flow_slug, n.input, coalesce(cardinality(v_steps), 0), v_now, v_owner, p_idempotency_key,
           v_traceparent, p_not_before
    from unnest(p_run_ids, p_inputs) n(run_id, input)
    on conflict do nothing
    returning run_id, input, nextval('pgflow.counted_runs_started')
  ), new_states as (
    insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_deps, created_at, started_at,
                                    completed_at, initial_tasks, remaining_tasks, output)
    select p_flow_slug, r.run_id, st.step_slug, x.status, st.deps_count, v_now,
           case when x.status in ('started', 'completed') then v_now end,
           case when x.status = 'completed' then v_now end,
           x.tasks,
           case when x.status in ('started', 'completed') then x.tasks end,
           case when x.status = 'completed' then '[]'::jsonb end
    from new_runs r
    cross join unnest(v_steps) st
    cross join lateral (
      select case when st.step_type <> 'map' then 1 when st.deps_count = 0 then jsonb_array_length(r.input) end as tasks
    ) t
    cross join lateral (
      select t.tasks, case when st.deps_count > 0 or st.has_condition then 'created'
                           when t.tasks = 0 then 'completed' else 'started' end as status
    ) x
    returning row(step_states.*)::pgflow._state as state
  )
  select array_agg((n.state)) filter (where (n.state).status = 'started'),
         array_agg((n.state)) filter (where (n.state).status = 'completed'),
         array_agg((n.state)) filter (where (n.state).status = 'created' and (n.state).remaining_deps = 0),
         (select array_agg(r.run_id) from new_runs r)
  into v_ready, v_ended, v_judged, v_run_ids from new_states n;

  if v_judged is not null then
    v_judged := pgflow._start_judged_steps(v_judged);
    select v_ready || array_agg(s) filter (where s.status = 'started'),
           v_ended || array_agg(s) filter (where s.status in ('completed', 'skipped')),
           (array_agg(row(s.run_id, s.step_slug, s.error_message)::pgflow._failed_step) filter (where s.status = 'failed'))
    into v_ready, v_ended, v_failed from unnest(v_judged) s;
  end if;
  if v_has_waits then
    select array_agg(s) filter (where st.step_type <> 'wait'), array_agg(s) filter (where st.step_type = 'wait')
    into v_ready, v_opened
    from unnest(v_ready) s join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug;
  end if;
  if v_steps is null then
    -- Without steps there is nothing to wait for.
    update pgflow.runs r set status = 'completed', completed_at = r.started_at, output = '{}'
    where r.run_id = any (v_run_ids);
    perform nextval('pgflow.counted_runs_completed') from unnest(v_run_ids);
    perform pgflow._send_events(v_run_ids, null, null, v_run_ids);
  else
    perform pgflow._advance(v_ended, v_ready, v_failed, v_run_ids, p_not_before, p_opened => v_opened);
  end if;
  return query select u.run_id from unnest(v_run_ids) u(run_id);
end $$;

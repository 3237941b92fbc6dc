-- Locks the run, then its states and tasks. What has completed keeps its output; a step that failed, or whose tasks were
-- cancelled, runs again with a fresh budget (the attempts it had are forgiven); a wait opens again, for its whole timeout, and
-- what had not begun has its whole start delay before it. What was due later, by start_at or by the delay of a retry, still is. A step that failed its condition is
-- judged again; skipped steps stay skipped.
create function pgflow.retry_run(run_id uuid)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_run pgflow.runs;
  v_tasks pgflow.step_tasks[];
  v_waiting pgflow.step_tasks[];
  v_restarted pgflow._state[];
  v_undispatched pgflow._state[];
  v_judged pgflow._state[];
  v_started pgflow._state[];
  v_opened pgflow._state[];
begin
  select * into v_run from pgflow.runs r where r.run_id = retry_run.run_id for no key update;
  if v_run.run_id is null or not pgflow._may_change(v_run.owner) then
    return;
  end if;
  if v_run.status not in ('failed', 'cancelled') then
    return next v_run;
    return;
  end if;

  -- The end of a run ends its tasks; one that is open all the same, and its message, belong to the run as it was.
  perform pgflow._end_unfinished_tasks(array[retry_run.run_id], null, 'cancelled');
  update pgflow.runs r set
    status = 'started', failed_at = null, cancelled_at = null, cancel_reason = null,
    remaining_steps = (select count(*) from pgflow.step_states s where s.run_id = r.run_id and s.status not in ('completed', 'skipped'))
  where r.run_id = retry_run.run_id
  returning * into v_run;

  -- Every step that had tasks goes on with those that did not complete.
  update pgflow.step_states s set
    status = 'started', failed_at = null, error_message = null,
    remaining_tasks = (select count(*) from pgflow.step_tasks t
                       where t.run_id = s.run_id and t.step_slug = s.step_slug and t.status <> 'completed')
  where s.run_id = retry_run.run_id and s.status in ('failed', 'started')
    and exists (select from pgflow.step_tasks t where t.run_id = s.run_id and t.step_slug = s.step_slug);
  -- A step that failed before it had any was refused by its condition.
  update pgflow.step_states s set status = 'created', failed_at = null, error_message = null, remaining_tasks = null
  where s.run_id = retry_run.run_id and s.status = 'failed';

  with again as (
    update pgflow.step_tasks t set
      status = case st.step_type when 'wait' then 'waiting' else 'queued' end, attempts_forgiven = t.attempts_count, failed_at = null, completed_at = null, error_message = null,
      output = null, requeued_count = 0, permanently_stalled_at = null, message_id = null,
      due_at = greatest(t.due_at, v_run.start_at,
                        case when t.attempts_count = 0 then clock_timestamp() + make_interval(secs => st.opt_start_delay) end)
    from pgflow.steps st
    where t.run_id = retry_run.run_id and t.status in ('failed', 'cancelled')
      and st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
      and exists (select from pgflow.step_states s where s.run_id = t.run_id and s.step_slug = t.step_slug and s.status = 'started')
    returning t as task
  )
  select array_agg(a.task) filter (where (a.task).status = 'queued'), array_agg(a.task) filter (where (a.task).status = 'waiting')
  into v_tasks, v_waiting from again a;
  perform pgflow._resend_messages(v_tasks);
  insert into pgflow.waits (run_id, step_slug, opened_at, due_at)
  select w.run_id, w.step_slug, pgflow.clock(), greatest(pgflow.clock(), v_run.start_at) + make_interval(secs => st.opt_timeout)
  from unnest(v_waiting) w join pgflow.steps st on st.flow_slug = w.flow_slug and st.step_slug = w.step_slug;

  -- Steps that had started in the very call that failed the run were never dispatched.
  select array_agg(row(s.*)::pgflow._state) filter (where s.status = 'started' and t.run_id is null),
         array_agg(row(s.*)::pgflow._state) filter (where s.status = 'started' and t.run_id is not null),
         array_agg(row(s.*)::pgflow._state) filter (where s.status = 'created' and s.remaining_deps = 0)
  into v_undispatched, v_restarted, v_judged
  from pgflow.step_states s
  left join lateral (select x.run_id from pgflow.step_tasks x where x.run_id = s.run_id and x.step_slug = s.step_slug limit 1) t on true
  where s.run_id = retry_run.run_id;

  perform pgflow._send_run_event(v_run, 'run:started', jsonb_build_object(
    'input', v_run.input, 'remaining_steps', v_run.remaining_steps, 'started_at', v_run.started_at));
  perform pgflow._send_events(null, v_restarted, null, null);
  if v_judged is not null then
    v_judged := pgflow._start_judged_steps(v_judged);
    select array_agg(j) filter (where st.step_type <> 'wait'), array_agg(j) filter (where st.step_type = 'wait')
    into v_started, v_opened
    from unnest(v_judged) j join pgflow.steps st on st.flow_slug = j.flow_slug and st.step_slug = j.step_slug
    where j.status = 'started';
  end if;
  perform pgflow._advance(
    (select array_agg(j) from unnest(v_judged) j where j.status in ('completed', 'skipped')),
    v_undispatched || v_started,
    (select array_agg(row(j.run_id, j.step_slug, j.error_message)::pgflow._failed_step) from unnest(v_judged) j where j.status = 'failed'),
    p_not_before => v_run.start_at, p_opened => v_opened);
  return query select r.* from pgflow.runs r where r.run_id = retry_run.run_id;
end $$;
comment on function pgflow.retry_run(uuid) is
  'Starts a failed or cancelled run again where it stopped: completed steps and map elements keep their outputs. Returns the run; any other run is returned as it is.';

-- Carries a set of runs as far as they go without a worker. p_ended: steps that have just completed or were skipped.
-- p_ready: steps that have just started; p_opened: waits that have. p_failed: steps that their run does not survive.
-- p_may_cascade: whether a step of p_ended was skipped. Works in waves, so depth has no limit; every wave is set-based over all runs. Events are sent last,
-- in the order of the waves: parent before child. The caller holds the runs' locks (or has just inserted them).
create function pgflow._advance(
  p_ended pgflow._state[], p_ready pgflow._state[], p_failed pgflow._failed_step[],
  p_new_run_ids uuid[] default null, p_not_before timestamptz default null, p_may_cascade boolean default true,
  p_opened pgflow._state[] default null)
returns void
language plpgsql
as $$
declare
  v_wave pgflow._state[] := p_ended;
  v_ended pgflow._state[] := p_ended;
  v_ready pgflow._state[] := p_ready;
  v_failed pgflow._failed_step[] := p_failed;
  -- Every transition, in its order.
  v_log pgflow._state[] := p_ended || p_ready;
  v_cascading pgflow._state[];
  v_cascaded pgflow._state[];
  v_released record;
  v_opened pgflow._state[];
  v_resumed pgflow._state[];
  v_judged pgflow._state[];
  v_more pgflow._state[];
  v_completed_run_ids uuid[];
  v_may_cascade boolean := p_may_cascade;
begin
  if p_opened is not null then
    v_resumed := pgflow._open_waits(p_opened, p_not_before);
    v_wave := v_wave || v_resumed;
    v_ended := v_wave;
    v_log := v_log || p_opened || v_resumed;
  end if;

  while v_wave is not null loop
    -- Nearly always nothing of a wave was skipped, and then this is known without a statement.
    v_cascading := null;
    if v_may_cascade then
      select array_agg(w) into v_cascading
      from unnest(v_wave) w
      join pgflow.steps st on st.flow_slug = w.flow_slug and st.step_slug = w.step_slug
      where (w.skip_reason = 'condition_unmet' and st.when_unmet = 'skip-cascade')
         or (w.skip_reason = 'handler_failed' and st.when_exhausted = 'skip-cascade');
    end if;
    if v_cascading is not null then
      v_cascaded := pgflow._skip_descendants(v_cascading);
      v_ended := v_ended || v_cascaded;
      v_log := v_log || v_cascaded;
    end if;

    v_released := pgflow._release_dependents(v_wave);
    v_judged := v_released.to_judge;
    v_wave := v_released.completed;
    v_more := v_released.started;
    v_opened := v_released.opened;
    v_ready := v_ready || v_more;
    v_log := v_log || v_wave || v_more || v_opened;
    v_may_cascade := v_judged is not null;
    if v_judged is not null then
      v_judged := pgflow._start_judged_steps(v_judged);
      select v_log || array_agg(s) filter (where s.status <> 'failed'),
             v_wave || array_agg(s) filter (where s.status in ('completed', 'skipped')),
             v_ready || array_agg(s) filter (where s.status = 'started' and st.step_type <> 'wait'),
             v_opened || array_agg(s) filter (where s.status = 'started' and st.step_type = 'wait'),
             v_failed || (array_agg(row(s.run_id, s.step_slug, s.error_message)::pgflow._failed_step) filter (where s.status = 'failed'))
      into v_log, v_wave, v_ready, v_opened, v_failed
      from unnest(v_judged) s join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug;
    end if;
    if v_opened is not null then
      -- Those whose payload had come before have ended again: they belong to this wave.
      v_resumed := pgflow._open_waits(v_opened);
      v_wave := v_wave || v_resumed;
      v_log := v_log || v_resumed;
    end if;
    v_ended := v_ended || v_wave;
  end loop;

  if v_failed is not null then
    perform pgflow._fail_runs(v_failed);
    select array_agg(s) into v_ready from unnest(v_ready) s where s.run_id not in (select f.run_id from unnest(v_failed) f);
  end if;
  if v_ready is not null then
    perform pgflow._dispatch(v_ready, p_not_before);
  end if;
  if v_ended is not null then
    v_completed_run_ids := pgflow._count_down_runs(v_ended);
  end if;
  perform pgflow._send_events(p_new_run_ids, v_log, v_failed, v_completed_run_ids);
end $$;

-- Settles many reports of many runs and tells which were refused, and why, or null; the others were accepted. See README.md in
-- this folder for the order of locks: runs first, in one statement; then tasks, states and messages of those runs only.
-- p_worker_id null: complete_task and fail_task without a fence, for which any started task will do.
create function pgflow._settle(p_worker_id uuid, p_reports jsonb)
returns pgflow._refused_report[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_reports pgflow._report[];
  v_result record;
  v_completed pgflow._ended_task[];
  v_failed pgflow._ended_task[];
  v_exhausted pgflow._ended_task[];
  v_ended_steps pgflow._state[];
  v_skipped_steps pgflow._state[];
  v_failed_steps pgflow._failed_step[];
  v_more_failed_steps pgflow._failed_step[];
begin
  if p_reports is null or jsonb_array_length(p_reports) = 0 then
    return null;
  end if;
  v_reports := pgflow._parse_reports(p_reports);

  -- A statement of its own: everything below sees what earlier holders of these runs committed. Ended runs too: one may be
  -- retried, and its task be claimed, before the next statement. (Nor may it say status = 'started', here and wherever run
  -- ids are known: a plan made while few runs were active would read all of them by runs_active_idx.)
  perform from pgflow.runs r
  where r.run_id in (select u.run_id from unnest(v_reports) u)
  order by r.run_id for no key update;

  with changed as (
    update pgflow.step_tasks t set
      -- greatest: this transaction may have begun before the claim that started the task.
      status = 'completed', completed_at = greatest(v_now, t.started_at), output = u.output, error_message = null
    from unnest(v_reports) u
    where u.status = 'completed' and u.problem is null
      and t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index and t.status = 'started'
      and (p_worker_id is null or (t.attempts_count = u.attempt and t.last_worker_id = p_worker_id))
      -- Whoever ends a run or step ends its tasks; a task that was opened by other means must not count in one that has ended.
      and (select r.status from pgflow.runs r where r.run_id = t.run_id) = 'started'
      and (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) = 'started'
    returning row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, t.output, null)::pgflow._ended_task as task,
              nextval('pgflow.counted_completions')
  )
  select array_agg(c.task) into v_completed from changed c;

  if v_completed is not null then
    -- Assigned, not selected from: that would be a plan to start.
    v_result := pgflow._complete_steps(v_completed);
    v_ended_steps := v_result.completed_steps;
    v_failed_steps := v_result.failed_steps;
    perform pgflow._archive_messages(v_completed);
  end if;

  if coalesce(cardinality(v_completed), 0) < cardinality(v_reports)
    and exists (select from unnest(v_reports) u where u.status = 'failed' and u.problem is null) then
    select f.accepted, f.exhausted into v_failed, v_exhausted from pgflow._fail_attempts(p_worker_id, v_reports) f;
    if v_exhausted is not null then
      select x.skipped_steps, x.failed_steps into v_skipped_steps, v_more_failed_steps from pgflow._exhaust_steps(v_exhausted) x;
    end if;
  end if;

  v_ended_steps := v_ended_steps || v_skipped_steps;
  v_failed_steps := v_failed_steps || v_more_failed_steps;
  if v_ended_steps is not null or v_failed_steps is not null then
    perform pgflow._advance(v_ended_steps, null, v_failed_steps, p_may_cascade => v_skipped_steps is not null);
  end if;

  if coalesce(cardinality(v_completed), 0) + coalesce(cardinality(v_failed), 0) < cardinality(v_reports) then
    return array(select r from pgflow._refused_reports(p_worker_id, v_reports, v_completed, v_failed) r);
  end if;
  return null;
end $$;

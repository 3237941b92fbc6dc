-- Puts the stalled tasks of these runs back, or ends those that have no attempt or requeue left. The caller holds the
-- runs. Returns how many were put back.
create function pgflow._recover_stalled_tasks(p_run_ids uuid[])
returns integer
language plpgsql
as $$
declare
  v_judged record;
  v_ended pgflow._ended_task[];
  v_skipped_steps pgflow._state[];
  v_failed_steps pgflow._failed_step[];
begin
  v_judged := pgflow._judge_stalled((select array_agg(t) from pgflow._stalled_tasks(p_run_ids) t));

  if v_judged.ended is not null then
    with kept as (
      insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason, error_message)
      select t.run_id, t.step_slug, t.task_index, t.attempts_count, t.last_worker_id, t.started_at, greatest(pgflow.clock(), t.started_at),
             'stalled', 'The worker did not report before the recovery boundary'
      from unnest(v_judged.ended) t
      on conflict on constraint task_attempts_pkey do nothing
    ), changed as (
      update pgflow.step_tasks t set
        status = 'failed', failed_at = greatest(pgflow.clock(), t.queued_at, t.started_at), permanently_stalled_at = pgflow.clock(),
        error_message = format('Stalled: no report came back in %s attempts, the last started at %s', t.attempts_count - t.attempts_forgiven, t.started_at)
          || case when t.requeued_count > 0 and exists (
               select from unnest(v_judged.lone) l where l.run_id = t.run_id and l.step_slug = t.step_slug and l.task_index = t.task_index)
             then '. Its worker vanished while it ran this task alone' else '' end
      from unnest(v_judged.ended) e
      where t.run_id = e.run_id and t.step_slug = e.step_slug and t.task_index = e.task_index and t.status = 'started'
      returning row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, null, t.error_message)::pgflow._ended_task as task
    )
    select array_agg(c.task) into v_ended from changed c;
    if v_ended is not null then
      select x.skipped_steps, x.failed_steps into v_skipped_steps, v_failed_steps from pgflow._exhaust_steps(v_ended) x;
      perform pgflow._advance(v_skipped_steps, null, v_failed_steps);
    end if;
  end if;
  if v_judged.requeued is null then
    return 0;
  end if;
  return pgflow._requeue_tasks(v_judged.requeued);
end $$;

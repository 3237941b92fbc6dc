-- Puts stalled tasks back into their queues, at once, with as many attempts forgiven as the caller says; each attempt is kept. The caller
-- holds their runs.
create function pgflow._requeue_tasks(p_tasks pgflow.step_tasks[])
returns integer
language plpgsql
as $$
declare
  v_requeued pgflow.step_tasks[];
begin
  with kept as (
    insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason, error_message)
    select t.run_id, t.step_slug, t.task_index, t.attempts_count, t.last_worker_id, t.started_at, greatest(pgflow.clock(), t.started_at),
           'stalled', 'The worker did not report before the recovery boundary'
    from unnest(p_tasks) t
    on conflict on constraint task_attempts_pkey do nothing
  ), changed as (
    update pgflow.step_tasks t set
      status = 'queued', requeued_count = t.requeued_count + 1, last_requeued_at = pgflow.clock(), attempts_forgiven = s.attempts_forgiven
    from unnest(p_tasks) s
    where t.run_id = s.run_id and t.step_slug = s.step_slug and t.task_index = s.task_index
      and t.status = 'started' and t.attempts_count = s.attempts_count
    returning t as task
  )
  select array_agg(c.task) into v_requeued from changed c;
  perform nextval('pgflow.counted_requeues') from unnest(v_requeued);
  perform count(*)
  from (select r.queue_name, array_agg(r.message_id) as ids from unnest(v_requeued) r group by r.queue_name order by r.queue_name) q
  cross join lateral pgflow.set_vt_batch(q.queue_name, q.ids, array_fill(0, array[cardinality(q.ids)]));
  return coalesce(cardinality(v_requeued), 0);
end $$;

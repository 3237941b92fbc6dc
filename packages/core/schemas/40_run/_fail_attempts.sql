-- Ends attempts as failed: the task goes back to its queue after its delay (parked until then, if that is long), or ends when the error is permanent or its
-- budget (attempts_count - attempts_forgiven) is used up. accepted: every task whose report counted; exhausted: those
-- that ended. The caller holds the runs.
-- A forgiven attempt failed through the platform (its database connection), not through its handler: it does not count, ten times a task
-- at most, after which an outage has lasted for three minutes. A task with one attempt never runs twice.
create function pgflow._fail_attempts(
  p_worker_id uuid, p_reports pgflow._report[], out accepted pgflow._ended_task[], out exhausted pgflow._ended_task[])
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_cap integer := pgflow._setting('max_retry_delay')::integer;
  v_retries jsonb;
  v_parked pgflow._ended_task[];
begin
  with failing as (
    select distinct on (t.run_id, t.step_slug, t.task_index)
           t.run_id, t.step_slug, t.task_index, t.message_id, u.error_message, u.error_name, u.error_stack,
           p.is_forgiven,
           u.permanent or (not p.is_forgiven and t.attempts_count - t.attempts_forgiven >= o.max_attempts) as is_final,
           least(v_cap, case when p.is_forgiven then least(30, pgflow.calculate_retry_delay(1, t.attempts_forgiven)) else
             coalesce(u.retry_delay, least(
               coalesce(s.opt_max_delay, f.opt_max_delay),
               pgflow.calculate_retry_delay(coalesce(s.opt_base_delay, f.opt_base_delay), t.attempts_count - t.attempts_forgiven))) end) as delay
    from unnest(p_reports) u
    join pgflow.step_tasks t on t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
    join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
    join pgflow.flows f on f.flow_slug = t.flow_slug
    cross join lateral (select coalesce(s.opt_max_attempts, f.opt_max_attempts) as max_attempts) o
    cross join lateral (select u.forgiven and o.max_attempts > 1 and t.attempts_forgiven < 10 as is_forgiven) p
    where u.status = 'failed' and u.problem is null and t.status = 'started'
      and (p_worker_id is null or (t.attempts_count = u.attempt and t.last_worker_id = p_worker_id))
      and (select r.status from pgflow.runs r where r.run_id = t.run_id) = 'started'
      and (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) = 'started'
  ), judged as (
    select f.*, not f.is_final and make_interval(secs => f.delay) > pgflow._parking_horizon() as is_parked from failing f
  ), changed as (
    update pgflow.step_tasks t set
      status = case when f.is_final then 'failed' else 'queued' end,
      attempts_forgiven = t.attempts_forgiven + f.is_forgiven::integer,
      failed_at = case when f.is_final then greatest(v_now, t.queued_at, t.started_at) end,
      error_message = f.error_message,
      due_at = case when not f.is_final and f.delay > 0 then clock_timestamp() + make_interval(secs => f.delay) end,
      message_id = case when not f.is_parked then t.message_id end
    from judged f
    where t.run_id = f.run_id and t.step_slug = f.step_slug and t.task_index = f.task_index and t.status = 'started'
    returning t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, f.message_id, t.attempts_count, t.last_worker_id,
              t.started_at, f.error_message, f.error_name, f.error_stack, f.is_final, f.is_parked, f.delay, t.due_at, nextval('pgflow.counted_failures')
  ), kept as (
    insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason,
                                      error_name, error_message, error_stack)
    select c.run_id, c.step_slug, c.task_index, c.attempts_count, c.last_worker_id, c.started_at, greatest(v_now, c.started_at),
           'failed', c.error_name, c.error_message, c.error_stack
    from changed c
    on conflict on constraint task_attempts_pkey do nothing
  ), parked as (
    insert into pgflow.parked_tasks (queue_name, due_at, run_id, step_slug, task_index)
    select c.queue_name, c.due_at, c.run_id, c.step_slug, c.task_index from changed c where c.is_parked
    on conflict on constraint parked_tasks_pkey do update set queue_name = excluded.queue_name, due_at = excluded.due_at
  ), ended as (
    select c.is_final, c.is_parked, row(c.flow_slug, c.run_id, c.step_slug, c.task_index, c.queue_name, c.message_id, null, c.error_message)::pgflow._ended_task as task
    from changed c
  )
  select (select array_agg(e.task) from ended e),
         (select array_agg(e.task) from ended e where e.is_final),
         (select jsonb_object_agg(q.queue_name, q.hidden) from (
            select c.queue_name, jsonb_build_object('ids', array_agg(c.message_id), 'delays', array_agg(c.delay)) as hidden
            from changed c where not c.is_final and not c.is_parked group by c.queue_name) q),
         (select array_agg(e.task) from ended e where e.is_parked)
  into accepted, exhausted, v_retries, v_parked;

  perform count(*)
  from jsonb_each(v_retries) q
  cross join lateral pgflow.set_vt_batch(
    q.key,
    array(select i::bigint from jsonb_array_elements_text(q.value -> 'ids') with ordinality e(i, n) order by n),
    array(select d::integer from jsonb_array_elements_text(q.value -> 'delays') with ordinality e(d, n) order by n));
  perform count(*)
  from (select p.queue_name, array_agg(p.message_id) as ids from unnest(v_parked) p group by p.queue_name order by p.queue_name) q
  cross join lateral pgmq.delete(q.queue_name, q.ids);
end $$;

-- Which stalled tasks run again, and which end. Beside others: the isolate or process of its worker held other tasks too, of which
-- each may have brought it down; such an attempt is forgiven, and the task is claimed alone from then on (_claim_messages). What stalls
-- alone has used up its attempt. A task with one attempt never runs twice, and none is put back more often than max_requeues.
-- Only reads, and waits for nobody: recovery inside a claim asks as well.
create function pgflow._judge_stalled(
  p_tasks pgflow.step_tasks[], out requeued pgflow.step_tasks[], out ended pgflow.step_tasks[], out lone pgflow.step_tasks[])
language plpgsql
as $$
declare
  v_max_requeues integer := pgflow._setting('max_requeues')::integer;
  v_workers uuid[];
  v_queue text;
  v_ids bigint[];
  v_held jsonb := '[]';
begin
  if p_tasks is null then
    return;
  end if;
  -- Those that lived with the workers of these tasks, themselves included.
  v_workers := array(
    select distinct w.worker_id
    from unnest(p_tasks) t
    join pgflow.workers o on o.worker_id = t.last_worker_id
    join pgflow.workers w on coalesce(w.execution_id, w.worker_id) = coalesce(o.execution_id, o.worker_id));
  for v_queue in
    select distinct w.queue_name from pgflow.workers w where w.worker_id = any (v_workers)
    union select t.queue_name from unnest(p_tasks) t order by 1
  loop
    begin
      -- A queue that is being dropped is not waited for; its tasks go with it.
      execute format('lock table pgmq.%I in access share mode nowait', pgmq.format_table_name(v_queue, 'q'));
      execute format('select array_agg(q.msg_id) from pgmq.%I q where q.read_ct > 0', pgmq.format_table_name(v_queue, 'q')) into v_ids;
    exception when undefined_table or lock_not_available then
      continue;
    end;
    v_held := v_held || coalesce((
      select jsonb_agg(jsonb_build_array(t.last_worker_id, t.run_id, t.step_slug, t.task_index))
      from pgflow.step_tasks t
      where t.queue_name = v_queue and t.message_id = any (v_ids) and t.message_id is not null
        and t.status = 'started' and t.last_worker_id = any (v_workers)), '[]');
  end loop;
  -- And what an earlier look has found of them already.
  v_held := v_held || coalesce((
    select jsonb_agg(jsonb_build_array(a.worker_id, a.run_id, a.step_slug, a.task_index))
    from pgflow.task_attempts a
    where a.reason = 'stalled' and a.ended_at >= (select min(t.started_at) from unnest(p_tasks) t) and a.worker_id = any (v_workers)), '[]');

  with held as (
    select coalesce(w.execution_id, w.worker_id) as execution_id, count(distinct h.value - 0) as tasks
    from jsonb_array_elements(v_held) h join pgflow.workers w on w.worker_id = (h.value ->> 0)::uuid
    group by 1
  ), judged as (
    select t.task, coalesce((
             select h.tasks > 1 from held h join pgflow.workers w on coalesce(w.execution_id, w.worker_id) = h.execution_id
             where w.worker_id = (t.task).last_worker_id), false) as is_beside_others,
           coalesce(s.opt_max_attempts, f.opt_max_attempts) as max_attempts
    from (select u::pgflow.step_tasks as task from unnest(p_tasks) u) t
    join pgflow.steps s on s.flow_slug = (t.task).flow_slug and s.step_slug = (t.task).step_slug
    join pgflow.flows f on f.flow_slug = s.flow_slug
  ), decided as (
    select j.task, j.is_beside_others,
           (j.task).requeued_count < v_max_requeues and j.max_attempts > 1
             and (j.task).attempts_count - (j.task).attempts_forgiven < j.max_attempts + j.is_beside_others::integer as runs_again
    from judged j
  )
  select array_agg(jsonb_populate_record(d.task, jsonb_build_object('attempts_forgiven', (d.task).attempts_forgiven + d.is_beside_others::integer)))
           filter (where d.runs_again),
         array_agg(d.task) filter (where not d.runs_again),
         array_agg(d.task) filter (where not d.runs_again and not d.is_beside_others)
  into requeued, ended, lone from decided d;
end $$;

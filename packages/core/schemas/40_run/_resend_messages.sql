-- New messages for tasks that have none, visible when the task is due; what is due much later is parked. The caller holds their runs.
-- Returns how many tasks that were.
create function pgflow._resend_messages(p_tasks pgflow.step_tasks[])
returns integer
language plpgsql
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  with parked as (
    insert into pgflow.parked_tasks (queue_name, due_at, run_id, step_slug, task_index)
    select t.queue_name, t.due_at, t.run_id, t.step_slug, t.task_index
    from unnest(p_tasks) t where t.due_at > v_now + pgflow._parking_horizon()
    on conflict on constraint parked_tasks_pkey do update set queue_name = excluded.queue_name, due_at = excluded.due_at
  ), batches as (
    select t.queue_name, greatest(v_now, t.due_at) as due_at, t.due_at > v_now + pgflow._parking_horizon() as is_parked,
           array_agg(t.run_id) as run_ids, array_agg(t.step_slug) as slugs, array_agg(t.task_index) as indexes,
           array_agg(jsonb_build_object('flow_slug', t.flow_slug, 'run_id', t.run_id, 'step_slug', t.step_slug, 'task_index', t.task_index)) as messages
    from unnest(p_tasks) t
    group by 1, 2, 3 order by 1, 2
  ), sent as materialized (
    select z.* from batches b
    cross join lateral unnest(
      case when not coalesce(b.is_parked, false) then array(select pgmq.send_batch(b.queue_name, b.messages, null::jsonb[], b.due_at)) end,
      b.run_ids, b.slugs, b.indexes
    ) as z(msg_id, run_id, step_slug, task_index)
  )
  update pgflow.step_tasks t set message_id = case when s.msg_id is not null then pgflow._unused_message_id(t.queue_name, s.msg_id) end
  from sent s
  where t.run_id = s.run_id and t.step_slug = s.step_slug and t.task_index = s.task_index;
  return coalesce(cardinality(p_tasks), 0);
end $$;

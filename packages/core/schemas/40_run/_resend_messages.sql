-- New messages for tasks whose message is gone, visible when the task is due. The caller holds their runs.
create function pgflow._resend_messages(p_tasks pgflow.step_tasks[])
returns integer
language plpgsql
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_sent integer;
begin
  with batches as (
    select t.queue_name, greatest(v_now, t.due_at) as due_at,
           array_agg(t.run_id) as run_ids, array_agg(t.step_slug) as slugs, array_agg(t.task_index) as indexes,
           array_agg(jsonb_build_object('flow_slug', t.flow_slug, 'run_id', t.run_id, 'step_slug', t.step_slug, 'task_index', t.task_index)) as messages
    from unnest(p_tasks) t
    group by 1, 2 order by 1, 2
  ), sent as materialized (
    select z.* from batches b
    cross join lateral rows from (
      pgmq.send_batch(b.queue_name, b.messages, null::jsonb[], b.due_at),
      unnest(b.run_ids, b.slugs, b.indexes)
    ) as z(msg_id, run_id, step_slug, task_index)
  ), changed as (
    update pgflow.step_tasks t set message_id = pgflow._unused_message_id(t.queue_name, s.msg_id)
    from sent s
    where t.run_id = s.run_id and t.step_slug = s.step_slug and t.task_index = s.task_index
    returning 1
  )
  select count(*) into v_sent from changed;
  return v_sent;
end $$;

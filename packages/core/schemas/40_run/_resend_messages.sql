-- New messages for tasks whose message is gone, visible at once; p_delays_start: but for tasks without an attempt, which
-- wait for the start delay of their step again. The caller holds their runs.
create function pgflow._resend_messages(p_tasks pgflow.step_tasks[], p_delays_start boolean default false)
returns integer
language plpgsql
as $$
declare
  v_sent integer;
begin
  with batches as (
    select t.queue_name, d.delay, array_agg(t.run_id) as run_ids, array_agg(t.step_slug) as slugs, array_agg(t.task_index) as indexes,
           array_agg(jsonb_build_object('flow_slug', t.flow_slug, 'run_id', t.run_id, 'step_slug', t.step_slug, 'task_index', t.task_index)) as messages
    from unnest(p_tasks) t
    cross join lateral (
      select case when p_delays_start and t.attempts_count = 0 then coalesce(st.opt_start_delay, 0) else 0 end as delay
      from pgflow.steps st where st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
    ) d
    group by t.queue_name, d.delay order by t.queue_name, d.delay
  ), sent as materialized (
    select z.* from batches b
    cross join lateral rows from (
      pgmq.send_batch(b.queue_name, b.messages, null::jsonb[], clock_timestamp() + make_interval(secs => b.delay)),
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

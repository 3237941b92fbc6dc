-- Makes the tasks and messages of steps that have just started, waits apart: _open_waits makes theirs. One send_batch per queue and delay; unnest zips the
-- ids that it returns, in the order of its messages, with the tasks. What is due much later is parked, without a message. p_not_before: a
-- start that was asked for later.
create function pgflow._dispatch(p_ready pgflow._state[], p_not_before timestamptz default null)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, message_id, queue_name, input, queued_at, due_at)
  select q.flow_slug, z.run_id, z.step_slug, z.task_index,
         case when z.msg_id <= q.known_id then pgflow._unused_message_id(q.queue_name, z.msg_id) else z.msg_id end,
         q.queue_name, z.input, v_now, q.due_at
  from (
    select s.queue_name, s.flow_slug,
           case when s.opt_start_delay > 0 or p_not_before > clock_timestamp()
                then greatest(clock_timestamp(), p_not_before) + make_interval(secs => coalesce(s.opt_start_delay, 0)) end as due_at,
           (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = s.queue_name and t.message_id is not null) as known_id,
           array_agg(r.run_id) as run_ids, array_agg(r.step_slug) as slugs,
           array_agg(e.task_index) as indexes, array_agg(e.element) as inputs,
           array_agg(jsonb_build_object('flow_slug', r.flow_slug, 'run_id', r.run_id,
                                        'step_slug', r.step_slug, 'task_index', e.task_index)) as messages
    from unnest(p_ready) r
    join pgflow.steps s on s.flow_slug = r.flow_slug and s.step_slug = r.step_slug
    cross join lateral (
      select 0, null::jsonb where s.step_type = 'single'
      union all
      select (a.ordinal - 1)::integer, a.element
      from jsonb_array_elements(case when s.step_type = 'map' then pgflow._map_source(r.flow_slug, r.run_id, r.step_slug) end)
           with ordinality a(element, ordinal)
    ) e(task_index, element)
    group by s.queue_name, s.flow_slug, s.opt_start_delay
    order by s.queue_name
  ) q
  cross join lateral unnest(
    case when q.due_at > v_now + pgflow._parking_horizon()
         then pgflow._park_tasks(q.queue_name, q.due_at, q.run_ids, q.slugs, q.indexes)
         else array(select pgmq.send_batch(q.queue_name, q.messages, null::jsonb[], coalesce(q.due_at, clock_timestamp()))) end,
    q.run_ids, q.slugs, q.indexes, q.inputs
  ) as z(msg_id, run_id, step_slug, task_index, input);
end $$;

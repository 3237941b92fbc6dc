-- Open tasks of started steps that no worker can come upon: their message is neither in their queue (or hidden for ever) nor parked, or their queue is
-- not that of their step. Looks at every open task once. Volatile, so that what follows a queue that is dropped meanwhile sees the
-- deletion that dropped it, and lists none of its tasks.
create function pgflow._unreachable_tasks()
returns setof pgflow.step_tasks
language plpgsql volatile
as $$
declare
  v_queue text;
begin
  for v_queue in select distinct s.queue_name from pgflow._routes s order by s.queue_name loop
    begin
      return query execute format(
        'select t.* from pgflow._open_tasks t
         where t.queue_name = $1 and not exists (select from pgmq.%I q where q.msg_id = t.message_id and q.vt < ''infinity'')
           and not exists (select from pgflow.parked_tasks p where p.run_id = t.run_id and p.step_slug = t.step_slug and p.task_index = t.task_index)
           and exists (select from pgflow._routes s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = $1)',
        pgmq.format_table_name(v_queue, 'q')) using v_queue;
    exception when undefined_table then
      -- Dropped by hand: none of its messages is left.
      return query select t.* from pgflow._open_tasks t
        where t.queue_name = v_queue
          and exists (select from pgflow._routes s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = v_queue);
    end;
  end loop;
  -- Whoever reads that queue, if anybody does, leaves what belongs to another step.
  return query select t.* from pgflow._open_tasks t
    where not exists (select from pgflow._routes s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = t.queue_name);
end $$;

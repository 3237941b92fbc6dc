-- Open tasks whose message is not in its queue: nothing will ever read them. Looks at every open task once. Volatile, so
-- that what follows a queue that is dropped meanwhile sees the deletion that dropped it, and lists none of its tasks.
create function pgflow._tasks_without_message()
returns setof pgflow.step_tasks
language plpgsql volatile
as $$
declare
  v_queue text;
begin
  for v_queue in select distinct s.queue_name from pgflow._routes s order by s.queue_name loop
    begin
      return query execute format(
        'select t.* from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id
         where r.status = ''started'' and t.queue_name = $1 and t.status in (''queued'', ''started'')
           and not exists (select from pgmq.%I q where q.msg_id = t.message_id)',
        pgmq.format_table_name(v_queue, 'q')) using v_queue;
    exception when undefined_table then
      -- Dropped by hand: none of its messages is left.
      return query select t.* from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id
        where r.status = 'started' and t.queue_name = v_queue and t.status in ('queued', 'started');
    end;
  end loop;
  -- In a queue that no route names there is nobody to read it.
  return query select t.* from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id
    where r.status = 'started' and t.status in ('queued', 'started')
      and not exists (select from pgflow._routes s where s.queue_name = t.queue_name);
end $$;

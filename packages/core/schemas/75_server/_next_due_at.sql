-- When the next of a step's queued tasks may begin: its message is hidden until then, by a start delay or a retry. Looks at the first
-- hundred of them. Null: none is queued, or its message is gone.
create function starflow._next_due_at(p_run_id uuid, p_step_slug text)
returns timestamptz
language plpgsql stable
as $$
declare
  v_queue text;
  v_ids bigint[];
  v_due_at timestamptz;
begin
  select t.queue_name, array_agg(t.message_id) into v_queue, v_ids
  from (select x.queue_name, x.message_id from pgflow.step_tasks x
        where x.run_id = p_run_id and x.step_slug = p_step_slug and x.status = 'queued' and x.message_id is not null
        order by x.task_index limit 100) t
  group by t.queue_name limit 1;
  if v_queue is null then
    return null;
  end if;
  execute format('select min(q.vt) from pgmq.%I q where q.msg_id = any ($1)', pgmq.format_table_name(v_queue, 'q')) into v_due_at using v_ids;
  return v_due_at;
exception when undefined_table then
  return null;
end $$;

-- Messages of a queue that none of its workers takes: no task has them, or that of a step which this queue does not serve.
create function pgflow._unsupported_messages(p_queue_name text)
returns table (msg_id bigint, read_ct integer, enqueued_at timestamptz, vt timestamptz, flow_slug text, run_id uuid, step_slug text, task_index integer)
language plpgsql stable
as $$
begin
  return query execute format(
    'select q.msg_id, q.read_ct::integer, q.enqueued_at, q.vt, t.flow_slug, t.run_id, t.step_slug, t.task_index
     from pgmq.%I q
     left join pgflow.step_tasks t on t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null
     where not exists (select from pgflow._routes s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = $1)
     order by q.msg_id',
    pgmq.format_table_name(p_queue_name, 'q')) using p_queue_name;
exception when undefined_table then
  return;
end $$;

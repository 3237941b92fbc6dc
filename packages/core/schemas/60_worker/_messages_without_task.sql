create function pgflow._messages_without_task(p_queue_name text)
returns table (msg_id bigint, read_ct integer, enqueued_at timestamptz, vt timestamptz)
language plpgsql stable
as $$
begin
  return query execute format(
    'select q.msg_id, q.read_ct::integer, q.enqueued_at, q.vt from pgmq.%I q
     where not exists (select from pgflow.step_tasks t where t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null)
     order by q.msg_id',
    pgmq.format_table_name(p_queue_name, 'q')) using p_queue_name;
exception when undefined_table then
  return;
end $$;

-- Moves the messages of the reports with status dead out of their queue; answers their ids. p_reports: those that were
-- accepted, whose messages the caller has locked.
create function pgflow._dead_letter_messages(p_worker_id uuid, p_queue_name text, p_reports jsonb)
returns bigint[]
language plpgsql
as $$
declare
  v_dead bigint[];
begin
  select array_agg(u.message_id) into v_dead
  from jsonb_to_recordset(p_reports) u(message_id bigint, status text) where u.status = 'dead';
  if v_dead is null then
    return '{}';
  end if;
  execute format(
    'insert into pgflow.dead_letters
       (queue_name, message_id, message, headers, read_count, enqueued_at, worker_id, error_name, error_message, error_stack, dead_at)
     select $1, q.msg_id, q.message, q.headers, q.read_ct, q.enqueued_at, $2, u.error ->> ''name'',
            coalesce(u.error_message, ''No reason was given.''), u.error ->> ''stack'', pgflow.clock()
     from pgmq.%I q
     join jsonb_to_recordset($3) u(message_id bigint, status text, error_message text, error jsonb) on u.message_id = q.msg_id
     where u.status = ''dead'' order by q.msg_id', pgmq.format_table_name(p_queue_name, 'q'))
  using p_queue_name, p_worker_id, p_reports;
  perform pgmq.delete(p_queue_name, v_dead);
  return v_dead;
end $$;

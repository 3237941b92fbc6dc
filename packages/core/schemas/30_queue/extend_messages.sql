-- Called by a queue worker while handlers run. Answers the ids that it still holds: a message that is missing from the
-- answer was read by somebody else since, or has ended.
create function pgflow.extend_messages(queue_name text, messages jsonb, visibility_timeout integer)
returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held bigint[];
begin
  execute format(
    'select array_agg(h.msg_id) from (
       select q.msg_id from pgmq.%I q
       join jsonb_to_recordset($1) u(message_id bigint, read_count integer) on q.msg_id = u.message_id and q.read_ct = u.read_count
       order by q.msg_id for update of q) h', pgmq.format_table_name(extend_messages.queue_name, 'q'))
  into v_held using messages;
  if v_held is null then
    return;
  end if;
  return query
    select v.msg_id
    from pgflow.set_vt_batch(extend_messages.queue_name, v_held, array_fill(visibility_timeout, array[cardinality(v_held)])) v;
end $$;
comment on function pgflow.extend_messages(text, jsonb, integer) is
  'Hides messages that a queue worker holds for another visibility_timeout seconds: [{message_id, read_count}]. Answers the ids it still holds.';

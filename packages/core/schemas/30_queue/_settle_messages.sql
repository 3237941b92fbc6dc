-- Settles reports about messages and tells which were refused. All or nothing: a message is archived, given a new time,
-- or moved to the dead letters in this one transaction. Locks only messages, by id.
create function pgflow._settle_messages(p_worker_id uuid, p_queue_name text, p_reports jsonb)
returns setof pgflow.message_item
language plpgsql
as $$
declare
  v_table text := pgmq.format_table_name(p_queue_name, 'q');
  v_held bigint[];
  v_read_counts integer[];
  v_accepted jsonb;
  v_ended bigint[];
  v_ids bigint[];
  v_delays integer[];
begin
  execute format(
    'select array_agg(h.msg_id), array_agg(h.read_ct) from (
       select q.msg_id, q.read_ct from pgmq.%I q
       join jsonb_to_recordset($1) u(message_id bigint, read_count integer) on q.msg_id = u.message_id and q.read_ct = u.read_count
       order by q.msg_id for update of q) h', v_table) into v_held, v_read_counts using p_reports;

  -- By id and count: one call may carry the report of a read that was lost beside that of the read which counts.
  select jsonb_agg(u.value) into v_accepted
  from jsonb_array_elements(p_reports) u
  join unnest(v_held, v_read_counts) h(msg_id, read_ct)
    on h.msg_id = (u.value ->> 'message_id')::bigint and h.read_ct = (u.value ->> 'read_count')::integer
  where u.value ->> 'status' in ('completed', 'retry', 'dead', 'released');

  if v_accepted is not null then
    select array_agg(u.message_id) filter (where u.status = 'completed'),
           array_agg(u.message_id order by u.message_id) filter (where u.status in ('retry', 'released')),
           array_agg(greatest(coalesce(u.retry_delay, 0), 0) order by u.message_id)
             filter (where u.status in ('retry', 'released'))
    into v_ended, v_ids, v_delays
    from jsonb_to_recordset(v_accepted) u(message_id bigint, status text, retry_delay integer);

    if v_ended is not null then
      perform pgmq.archive(p_queue_name, v_ended);
    end if;
    perform pgflow.set_vt_batch(p_queue_name, v_ids, v_delays);
    insert into pgflow.forgiven_reads (queue_name, message_id, read_count)
    select p_queue_name, u.message_id, u.read_count
    from jsonb_to_recordset(v_accepted) u(message_id bigint, read_count integer, status text)
    where u.status = 'released'
    on conflict on constraint forgiven_reads_pkey do nothing;
    v_ended := v_ended || pgflow._dead_letter_messages(p_worker_id, p_queue_name, v_accepted);
    delete from pgflow.forgiven_reads f where f.queue_name = p_queue_name and f.message_id = any (v_ended);
  end if;

  return query execute format(
    'select ''refused'', u.message_id, u.read_count, null::integer, null::timestamptz, null::jsonb, null::jsonb,
            case when u.status is null or u.status not in (''completed'', ''retry'', ''dead'', ''released'') then ''unknown status''
                 when q.msg_id is null then ''the message is gone'' else ''somebody else has read the message since'' end
     from jsonb_to_recordset($1) u(message_id bigint, read_count integer, status text)
     left join pgmq.%I q on q.msg_id = u.message_id
     where not exists (
       select from jsonb_to_recordset($2) a(message_id bigint, read_count integer)
       where a.message_id = u.message_id and a.read_count = u.read_count)', v_table)
  using p_reports, coalesce(v_accepted, '[]');
end $$;

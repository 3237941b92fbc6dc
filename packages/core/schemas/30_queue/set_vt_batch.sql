-- pgmq sets the visibility of one message a call; claiming and retrying need it for a batch in one statement. The one
-- place, with archive pruning, that writes a queue table directly.
create function pgflow.set_vt_batch(queue_name text, msg_ids bigint[], vt_offsets integer[])
returns table (msg_id bigint, read_ct integer, enqueued_at timestamptz, vt timestamptz, message jsonb, headers jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if msg_ids is null or vt_offsets is null or cardinality(msg_ids) = 0 then
    return;
  end if;
  if cardinality(msg_ids) <> cardinality(vt_offsets) then
    perform pgflow._raise('SF001', 'set_vt_batch needs one offset for each message.',
      format('%s messages, %s offsets.', cardinality(msg_ids), cardinality(vt_offsets)), 'Send arrays of one length.');
  end if;
  return query execute format(
    'update pgmq.%I q set vt = clock_timestamp() + make_interval(secs => u.vt_offset)
     from unnest($1, $2) as u(id, vt_offset) where q.msg_id = u.id
     returning q.msg_id, q.read_ct::integer, q.enqueued_at, q.vt, q.message, q.headers',
    pgmq.format_table_name(set_vt_batch.queue_name, 'q'))
  using msg_ids, vt_offsets;
end $$;
comment on function pgflow.set_vt_batch(text, bigint[], integer[]) is 'Makes each message visible in the given number of seconds from now.';

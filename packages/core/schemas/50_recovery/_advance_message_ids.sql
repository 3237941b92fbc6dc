-- A queue whose ids began anew (restored without its messages, or made again by hand) would give a new message the id of an old one,
-- which a task has or its archive. Moves its ids beyond those. Takes no lock, which would hold up every start and settlement: between
-- the look and the move senders would have to draw as many ids as are left out before one came twice, and then its insert would be
-- refused. With its owner's rights: whoever may send may not set sequences.
create function pgflow._advance_message_ids(p_queue_name text)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  c_left_out constant bigint := 1000000;
  v_sequence regclass := pg_get_serial_sequence(format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'q')), 'msg_id');
  v_known bigint := (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = p_queue_name and t.message_id is not null);
  v_archive text := format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'a'));
  v_archived bigint;
begin
  if to_regclass(v_archive) is not null then
    execute format('select max(a.msg_id) from %s a', v_archive) into v_archived;
  end if;
  v_known := greatest(v_known, v_archived);
  if v_known > coalesce(pg_sequence_last_value(v_sequence), 0) then
    perform setval(v_sequence, v_known + c_left_out);
  end if;
end $$;

-- A queue whose ids began anew (restored without its messages, or made again by hand) would give a new message the id of an old
-- one, which a task has. Moves its ids beyond those that tasks know. The lock keeps senders away between look and move, and is taken
-- only where there is something to move. With its owner's rights: whoever may send may not set sequences.
create function pgflow._advance_message_ids(p_queue_name text)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table text := format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'q'));
  v_sequence regclass := pg_get_serial_sequence(v_table, 'msg_id');
  v_known bigint := (select max(t.message_id) from pgflow.step_tasks t where t.queue_name = p_queue_name and t.message_id is not null);
begin
  if coalesce(pg_sequence_last_value(v_sequence), 0) >= v_known or v_known is null then
    return;
  end if;
  execute format('lock table %s in share row exclusive mode', v_table);
  perform setval(v_sequence, greatest(v_known, pg_sequence_last_value(v_sequence)));
end $$;

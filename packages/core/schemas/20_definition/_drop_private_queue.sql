-- Drops a queue and its archive by the spelling that pgmq lists. A queue somebody dropped by hand is a NOTICE, not an
-- error: deleting a flow must stay possible.
create function pgflow._drop_private_queue(p_queue_name text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_listed text[];
begin
  select array_agg(l.queue_name::text) into v_listed from pgmq.list_queues() l where lower(l.queue_name collate "C") = lower(p_queue_name collate "C");
  if v_listed is null then
    raise notice 'queue "%" was already gone', p_queue_name;
  elsif cardinality(v_listed) > 1 then
    perform pgflow._raise('SF110', format('Queue "%s" is listed under several spellings.', p_queue_name),
      'pgmq lists ' || array_to_string(v_listed, ', ') || ', which all name the same tables.',
      format('Drop none of them: their messages would go. Take the other names off the list, as their owner: delete from pgmq.meta where lower(queue_name collate "C") = %L and queue_name <> %L;',
             lower(p_queue_name collate "C"), lower(p_queue_name collate "C")));
  else
    perform pgmq.drop_queue(v_listed[1]);
  end if;
end $$;

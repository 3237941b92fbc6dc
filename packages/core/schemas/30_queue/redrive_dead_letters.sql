-- Each call takes the letters that nobody else takes at the same time, and sends each once, in the order they died.
create function pgflow.redrive_dead_letters(queue_name text, message_ids bigint[] default null)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letter record;
  v_flow_slug text;
  v_sent integer := 0;
begin
  select s.flow_slug into v_flow_slug from pgflow._routes s where s.queue_name = lower(redrive_dead_letters.queue_name collate "C") limit 1;
  if v_flow_slug is not null then
    perform pgflow._raise('SF411', format('Queue "%s" belongs to flow "%s" and has no dead letters.', lower(redrive_dead_letters.queue_name collate "C"), v_flow_slug),
      'Only queues without a flow have them. A task of a flow that uses up its attempts is failed, and its run tells it.',
      'Try a failed run again: select pgflow.retry_run(''<run_id>'');');
  end if;
  perform pgflow.find_worker_queue(redrive_dead_letters.queue_name);
  for v_letter in
    with taken as (
      delete from pgflow.dead_letters d using (
        select l.dead_letter_id from pgflow.dead_letters l
        where l.queue_name = lower(redrive_dead_letters.queue_name collate "C")
          and (message_ids is null or l.message_id = any (message_ids))
        for update skip locked
      ) chosen
      where d.dead_letter_id = chosen.dead_letter_id
      returning d.dead_letter_id, d.message, d.headers
    )
    select * from taken t order by t.dead_letter_id
  loop
    perform pgmq.send(lower(redrive_dead_letters.queue_name collate "C"), v_letter.message, v_letter.headers);
    v_sent := v_sent + 1;
  end loop;
  return v_sent;
end $$;
comment on function pgflow.redrive_dead_letters(text, bigint[]) is
  'Sends dead letters of a queue again, all or those of the given messages, as new messages. Returns how many.';

-- The id of a message that was just sent, unless a task has it: then the ids of the queue began anew, and two tasks would share a
-- message. The dispatch asks only where the id is not above all that tasks have, which is never while ids only grow.
create function pgflow._unused_message_id(p_queue_name text, p_message_id bigint)
returns bigint
language plpgsql
as $$
begin
  if exists (select from pgflow.step_tasks t where t.queue_name = p_queue_name and t.message_id = p_message_id) then
    perform pgflow._raise('SF210', format('A new message of queue "%s" would have the id of an old one.', p_queue_name),
      format('Message %s belongs to another task: the queue was restored without its messages or made again, and its ids began anew. Nothing was changed.', p_message_id),
      'Run: select pgflow.repair_liveness(); it moves the ids beyond all old ones. Then do it again.');
  end if;
  return p_message_id;
end $$;

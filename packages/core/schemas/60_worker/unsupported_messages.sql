create view pgflow.unsupported_messages as
  select q.queue_name, m.msg_id as message_id, m.read_ct as read_count, m.enqueued_at, m.vt as visible_at
  -- In the order in which a deletion drops them: else each could wait for a queue that the other has.
  from (select distinct s.queue_name from pgflow._routes s order by s.queue_name) q
  cross join lateral pgflow._messages_without_task(q.queue_name) m;
comment on view pgflow.unsupported_messages is 'Messages in Starflow''s queues that no task knows, without their bodies: sent by hand, or left by something else.';

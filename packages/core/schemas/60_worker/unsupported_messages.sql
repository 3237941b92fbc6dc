create view pgflow.unsupported_messages as
  select q.queue_name, m.msg_id as message_id, m.read_ct as read_count, m.enqueued_at, m.vt as visible_at,
         m.flow_slug, m.run_id, m.step_slug, m.task_index
  -- In the order in which a deletion drops them: else each could wait for a queue that the other has.
  from (select distinct s.queue_name from pgflow._routes s order by s.queue_name) q
  cross join lateral pgflow._unsupported_messages(q.queue_name) m;
comment on view pgflow.unsupported_messages is 'Messages in Starflow''s queues that no worker takes, without their bodies: those that no task knows, sent by hand or left by something else, and those whose task (flow_slug, run_id, step_slug, task_index) is of a step that another queue serves. The latter are in liveness_audit too, and repair_liveness() moves them.';

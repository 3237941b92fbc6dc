-- Archives the messages of ended tasks, each from the queue that its task names. Idempotent.
create function pgflow._archive_messages(p_tasks pgflow._ended_task[])
returns void
language plpgsql
as $$
begin
  perform count(*)
  from (
    select t.queue_name, array_agg(t.message_id order by t.message_id) as ids
    from unnest(p_tasks) t where t.message_id is not null
    group by t.queue_name order by t.queue_name
  ) q cross join lateral pgmq.archive(q.queue_name, q.ids);
end $$;

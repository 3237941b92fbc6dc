-- One pass over the oldest 10 000 messages of a queue: how many there are, how many a worker has taken and not settled (hidden by a
-- read, and not by a delay: of a task, it is started), and how long the oldest has been there. And how many messages were ever sent and
-- archived, which Postgres counts by itself: rows inserted into the two tables of the queue. Null: the queue is gone.
create function pgflow._queue_measures(
  p_queue_name text, out depth integer, out in_flight integer, out oldest_age interval, out sent_count bigint, out archived_count bigint)
returns record
language plpgsql stable
as $$
begin
  execute format(
    'select count(*), count(*) filter (where q.vt > clock_timestamp() and q.read_ct > 0 and coalesce((
              select t.status from pgflow.step_tasks t where t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null
            ), ''started'') = ''started''),
            clock_timestamp() - min(q.enqueued_at)
     from (select m.msg_id, m.vt, m.read_ct, m.enqueued_at from pgmq.%I m order by m.msg_id limit 10000) q',
    pgmq.format_table_name(p_queue_name, 'q')) into depth, in_flight, oldest_age using p_queue_name;
  sent_count := pg_stat_get_tuples_inserted(to_regclass(format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'q'))));
  archived_count := pg_stat_get_tuples_inserted(to_regclass(format('pgmq.%I', pgmq.format_table_name(p_queue_name, 'a'))));
exception when undefined_table then
  depth := null;
end $$;

-- How many messages a queue holds, counted up to 1000, and how long the oldest has been there.
create function pgflow._queue_depth(p_queue_name text, out depth integer, out oldest_age interval)
language plpgsql stable
as $$
begin
  execute format(
    'select (select count(*) from (select from pgmq.%1$I limit 1000) x),
            (select clock_timestamp() - q.enqueued_at from pgmq.%1$I q order by q.msg_id limit 1)',
    pgmq.format_table_name(p_queue_name, 'q')) into depth, oldest_age;
exception when undefined_table then
  depth := null;
end $$;

-- What is wrong in a queue, as far as cheap looks tell. waiting_age: how long the message that is visible for longest could have been
-- taken. Stalled: of the ten thousand oldest messages those that were read before and are visible again, and whose task was started and is
-- past its recovery boundary. Unsupported: of the thousand oldest messages, those that none of its workers takes, since no task of its steps has them; null of a queue without a flow.
create function pgflow._queue_troubles(
  p_queue_name text, p_has_routes boolean, out waiting_age interval, out stalled integer, out unsupported integer)
returns record
language plpgsql stable
as $$
begin
  execute format(
    'select (select $3 - m.vt from pgmq.%1$I m where m.vt <= $3 order by m.vt limit 1),
            (select count(*)
             from (select m.msg_id, m.vt, m.read_ct from pgmq.%1$I m order by m.msg_id limit 10000) q
             join pgflow.step_tasks t on t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null
             join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
             join pgflow.flows f on f.flow_slug = t.flow_slug
             where q.vt <= $3 and q.read_ct > 0 and t.status = ''started''
               and t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock()),
            (select count(*) from (select m.msg_id from pgmq.%1$I m order by m.msg_id limit 1000) q
             where $2 and not exists (
               select from pgflow.step_tasks t join pgflow._routes s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
               where t.queue_name = $1 and t.message_id = q.msg_id and t.message_id is not null and s.queue_name = $1))',
    pgmq.format_table_name(p_queue_name, 'q')) into waiting_age, stalled, unsupported using p_queue_name, p_has_routes, clock_timestamp();
  if not p_has_routes then
    unsupported := null;
  end if;
exception when undefined_table then
  waiting_age := null;
end $$;

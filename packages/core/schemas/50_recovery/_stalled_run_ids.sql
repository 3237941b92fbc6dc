-- Runs that may hold a stalled task, found through the queues: a started task's message has been read and comes back
-- into sight after its timeout, so only messages that were read before and are visible, or were put off for 5 s by a claim
-- that met them, are looked at. (Looking through
-- the tasks of 100 000 active runs took ten times as long, and an index on started tasks costs every claim its HOT update.)
create function pgflow._stalled_run_ids()
returns uuid[]
language plpgsql
as $$
declare
  v_queue text;
  -- Once, since a volatile function is called again for each message and no index serves it.
  v_until timestamptz := clock_timestamp() + interval '5 seconds';
  v_ids bigint[];
  v_run_ids uuid[];
begin
  for v_queue in select distinct s.queue_name from pgflow._routes s order by s.queue_name loop
    begin
      -- A queue that is being dropped holds up the recovery of no other; its tasks go with it.
      execute format('lock table pgmq.%I in access share mode nowait', pgmq.format_table_name(v_queue, 'q'));
      execute format('select array_agg(q.msg_id) from pgmq.%I q where q.read_ct > 0 and q.vt <= $1',
                     pgmq.format_table_name(v_queue, 'q')) into v_ids using v_until;
    exception when undefined_table or lock_not_available then
      -- A queue dropped by hand holds nothing to recover; its worker says so at its next start.
      v_ids := null;
    end;
    v_run_ids := v_run_ids || (
      select array_agg(distinct t.run_id) from pgflow.step_tasks t
      join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
      join pgflow.flows f on f.flow_slug = t.flow_slug
      where t.queue_name = v_queue and t.message_id = any (v_ids) and t.message_id is not null and t.status = 'started'
        and coalesce(t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock(), true));
  end loop;
  return v_run_ids;
end $$;

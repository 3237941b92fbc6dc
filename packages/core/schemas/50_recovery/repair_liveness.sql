-- Sends a lost message again, once however many call it at once: of queued tasks, when they are due, and of started ones past their
-- recovery boundary, which are recovered in the same call. What lies in a queue that does not serve its step is moved. Keeps deletions away first, since it looks at queues before it locks runs, and
-- a deletion locks runs before it drops queues; a flow that is being deleted already is left. Then takes the runs in id order, like
-- a settlement. In pieces, since it holds those runs until it ends.
create function pgflow.repair_liveness(run_ids uuid[] default null, max_tasks integer default 10000)
returns integer
language plpgsql
-- Planned at each call: a plan of an earlier one may have been made when the tables were all but empty.
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_flow_slugs text[] := array(
    select f.flow_slug from pgflow.flows f where pg_try_advisory_xact_lock_shared(pgflow._deletion_lock(f.flow_slug)));
  -- In the order of their names: whoever looks at many queues does so in that order.
  v_queues text[] := array(
    select distinct s.queue_name from pgflow._routes s
    where s.flow_slug = any (v_flow_slugs) and s.queue_name in (select lower(l.queue_name collate "C") from pgmq.list_queues() l)
      and to_regclass(format('pgmq.%I', pgmq.format_table_name(s.queue_name, 'q'))) is not null
    order by s.queue_name);
  v_runs uuid[];
  v_lost pgflow.step_tasks[];
  v_moved pgflow.step_tasks[];
  v_sent integer;
begin
  if not coalesce(max_tasks > 0, false) then
    perform pgflow._raise('SF001', 'max_tasks is how many messages one call sends at most.', format('It is %s.', coalesce(max_tasks::text, 'null')),
      'Give a number above zero, or leave it out: 10 000.');
  end if;
  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.run_id in (select t.run_id from pgflow._lost_tasks(v_queues, repair_liveness.run_ids, max_tasks) t)
      and r.status not in ('completed', 'failed', 'cancelled')
    order by r.run_id for no key update
  ) l;
  perform pgflow._advance_message_ids(q.queue_name) from unnest(v_queues) q(queue_name);
  -- Read again under the locks: somebody else may have repaired or settled them meanwhile.
  select array_agg(t) into v_lost from pgflow._lost_tasks(v_queues, v_runs, max_tasks) t where v_runs is not null;
  if v_lost is null then
    return 0;
  end if;
  -- What is still there of them is hidden for ever, or in a queue that does not serve their step.
  perform pgflow._archive_messages(array(
    select row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, null, null)::pgflow._ended_task
    from unnest(v_lost) t where t.queue_name = any (v_queues)));
  -- Those in a queue that does not serve their step go to the one that does; nothing is to be found of them in the former.
  v_moved := array(
    select t from unnest(v_lost) t join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug where t.queue_name <> s.queue_name);
  if cardinality(v_moved) > 0 then
    update pgflow.step_tasks t set queue_name = s.queue_name, message_id = null
    from unnest(v_moved) l join pgflow.steps s on s.flow_slug = l.flow_slug and s.step_slug = l.step_slug
    where t.run_id = l.run_id and t.step_slug = l.step_slug and t.task_index = l.task_index;
    v_lost := array(
      select t from unnest(v_lost) l
      join pgflow.step_tasks t on t.run_id = l.run_id and t.step_slug = l.step_slug and t.task_index = l.task_index);
  end if;
  delete from pgflow.parked_tasks p using unnest(v_lost) l
  where p.run_id = l.run_id and p.step_slug = l.step_slug and p.task_index = l.task_index;
  v_sent := pgflow._resend_messages(v_lost);
  -- The periodic recovery looks only at messages that were read before, which a new one was not.
  perform pgflow._recover_stalled_tasks(array(select distinct t.run_id from unnest(v_lost) t where t.status = 'started'));
  return v_sent;
end $$;
comment on function pgflow.repair_liveness(uuid[], integer) is 'Sends the messages again that liveness_audit misses or finds hidden for ever, each for the time when its task is due and to the queue that serves its step, and moves the ids of queues that count from 1 again beyond those that tasks know. At most max_tasks of them, of these runs or of all: returns how many were sent, and is to be called until that is 0. Steps and runs without a next actor are defects: report them.';

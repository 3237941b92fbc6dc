-- Sends a lost message again, once however many call it at once: of queued tasks, and of started ones past their recovery
-- boundary, which are recovered in the same call. Keeps deletions away first, since it looks at queues before it locks runs, and
-- a deletion locks runs before it drops queues; a flow that is being deleted already is left. Then takes the runs in id order, like
-- a settlement.
create function pgflow.repair_liveness()
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow_slugs text[] := array(
    select f.flow_slug from pgflow.flows f where pg_try_advisory_xact_lock_shared(pgflow._deletion_lock(f.flow_slug)));
  v_runs uuid[];
  v_lost pgflow.step_tasks[];
  v_sent integer;
begin
  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.run_id in (select a.run_id from pgflow.liveness_audit a where a.kind = 'task')
      and r.flow_slug = any (v_flow_slugs) and r.status not in ('completed', 'failed', 'cancelled')
    order by r.run_id for no key update
  ) l;
  perform pgflow._advance_message_ids(q.queue_name)
  from (select distinct s.queue_name from pgflow.steps s where s.flow_slug = any (v_flow_slugs) order by 1) q
  where exists (select from pgmq.list_queues() l where lower(l.queue_name) = q.queue_name);
  -- Read again under the locks: somebody else may have repaired or settled them meanwhile.
  select array_agg(t) into v_lost
  from pgflow._tasks_without_message() t
  join pgflow.liveness_audit a on a.run_id = t.run_id and a.step_slug = t.step_slug and a.task_index = t.task_index and a.kind = 'task'
  where t.run_id = any (v_runs) and exists (select from pgmq.list_queues() l where lower(l.queue_name) = t.queue_name)
    and exists (select from pgflow.steps s where s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = t.queue_name);
  if v_lost is null then
    return 0;
  end if;
  v_sent := pgflow._resend_messages(v_lost);
  -- The periodic recovery looks only at messages that were read before, which a new one was not.
  perform pgflow._recover_stalled_tasks(array(select distinct t.run_id from unnest(v_lost) t where t.status = 'started'));
  return v_sent;
end $$;
comment on function pgflow.repair_liveness() is 'Sends the messages again that liveness_audit misses, and moves the ids of queues that began anew beyond those that tasks know; returns how many were sent. Steps and runs without a next actor are defects: report them.';

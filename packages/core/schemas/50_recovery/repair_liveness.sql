-- Sends a lost message again, once per call, for queued tasks and for started ones past their recovery boundary (which
-- the stalled recovery then finds). Takes their runs in id order first, like a settlement.
create function pgflow.repair_liveness()
returns integer
language plpgsql
set search_path = ''
as $$
declare
  v_lost pgflow.step_tasks[];
begin
  perform from pgflow.runs r
  where r.run_id in (select a.run_id from pgflow.liveness_audit a where a.kind = 'task') and r.status = 'started'
  order by r.run_id for no key update;
  -- Read again under the locks: somebody else may have repaired or settled them meanwhile.
  select array_agg(t) into v_lost
  from pgflow._tasks_without_message() t
  join pgflow.liveness_audit a on a.run_id = t.run_id and a.step_slug = t.step_slug and a.task_index = t.task_index and a.kind = 'task'
  where exists (select from pgmq.list_queues() l where lower(l.queue_name) = t.queue_name);
  if v_lost is null then
    return 0;
  end if;
  return pgflow._resend_messages(v_lost);
end $$;
comment on function pgflow.repair_liveness() is 'Sends the messages again that liveness_audit misses; returns how many. Steps and runs without a next actor are defects: report them.';

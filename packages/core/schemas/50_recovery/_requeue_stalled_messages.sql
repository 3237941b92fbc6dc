-- Recovery inside a claim, so that it never depends on cron alone: the caller holds these messages. Never waits: runs
-- are taken with skip locked. Only puts tasks back; a task that must end is left to requeue_stalled_tasks, because
-- ending a run waits for tasks and messages that other claims may hold. Returns the messages that were put back.
create function pgflow._requeue_stalled_messages(p_queue_name text, p_ids bigint[])
returns bigint[]
language plpgsql
as $$
declare
  v_runs uuid[];
  v_tasks pgflow.step_tasks[];
begin
  if p_ids is null or cardinality(p_ids) = 0 then
    return null;
  end if;
  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.status not in ('completed', 'failed', 'cancelled') and r.run_id in (
      select t.run_id from pgflow.step_tasks t
      where t.queue_name = p_queue_name and t.message_id = any (p_ids) and t.message_id is not null)
    order by r.run_id for no key update skip locked
  ) l;
  v_tasks := (pgflow._judge_stalled((
    select array_agg(t) from pgflow._stalled_tasks(v_runs) t where t.queue_name = p_queue_name and t.message_id = any (p_ids)))).requeued;
  if v_tasks is null then
    return null;
  end if;
  perform pgflow._requeue_tasks(v_tasks);
  return array(select t.message_id from unnest(v_tasks) t);
end $$;

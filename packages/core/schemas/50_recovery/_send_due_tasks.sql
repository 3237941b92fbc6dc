-- Sends the messages of parked tasks of a queue that are due by then, at most so many, and takes them from the parking place. Never waits,
-- since claims call it: runs are taken with skip locked, a busy one is left for the next call, and nobody changes a task without a
-- message but who holds its run. What is parked though its task is not queued or has a message (after changes by hand) goes unsent.
create function pgflow._send_due_tasks(p_queue_name text, p_until timestamptz, p_max integer)
returns integer
language plpgsql
as $$
declare
  v_runs uuid[];
  v_tasks pgflow.step_tasks[];
begin
  delete from pgflow.parked_tasks p
  where (p.run_id, p.step_slug, p.task_index) in (
    select e.run_id, e.step_slug, e.task_index from pgflow.parked_tasks e
    where e.queue_name = p_queue_name and e.due_at <= p_until
      and not exists (select from pgflow.step_tasks t where t.run_id = e.run_id and t.step_slug = e.step_slug and t.task_index = e.task_index
                        and t.status = 'queued' and t.message_id is null)
    order by e.due_at limit p_max for update skip locked);

  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.status not in ('completed', 'failed', 'cancelled') and r.run_id in (
      select p.run_id from pgflow.parked_tasks p where p.queue_name = p_queue_name and p.due_at <= p_until order by p.due_at limit p_max)
    order by r.run_id for no key update skip locked
  ) l;
  if v_runs is null then
    return 0;
  end if;
  -- A statement of its own: it sees what the former holders of these runs committed.
  with due as (
    delete from pgflow.parked_tasks p
    where (p.run_id, p.step_slug, p.task_index) in (
      select e.run_id, e.step_slug, e.task_index from unnest(v_runs) u(run_id) join pgflow.parked_tasks e on e.run_id = u.run_id
      where e.queue_name = p_queue_name and e.due_at <= p_until
      order by e.due_at limit p_max)
    returning p.run_id, p.step_slug, p.task_index
  )
  select array_agg(t) into v_tasks
  from due d join pgflow.step_tasks t on t.run_id = d.run_id and t.step_slug = d.step_slug and t.task_index = d.task_index
  where t.status = 'queued' and t.message_id is null;
  if v_tasks is null then
    return 0;
  end if;
  -- Else the message of one task could be refused for the ids of a queue that began anew, and hold up all the others.
  perform pgflow._advance_message_ids(p_queue_name);
  return pgflow._resend_messages(v_tasks);
end $$;

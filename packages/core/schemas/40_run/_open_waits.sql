-- Opens waits whose steps have just started: a task that waits, without a message, and a row that says when it is due
-- (p_not_before: a start that was asked for later counts from then). Where the payload came before, the wait ends at once:
-- returns the steps that so completed. The caller holds their runs.
create function pgflow._open_waits(p_opened pgflow._state[], p_not_before timestamptz default null)
returns pgflow._state[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_resumed pgflow._ended_task[];
begin
  insert into pgflow.step_tasks (flow_slug, run_id, step_slug, status, queue_name, queued_at)
  select o.flow_slug, o.run_id, o.step_slug, 'waiting', st.queue_name, v_now
  from unnest(p_opened) o join pgflow.steps st on st.flow_slug = o.flow_slug and st.step_slug = o.step_slug;

  with kept as (
    delete from pgflow.waits w using unnest(p_opened) o
    where w.run_id = o.run_id and w.step_slug = o.step_slug
    returning w.run_id, w.step_slug, w.payload
  ), changed as (
    update pgflow.step_tasks t set status = 'completed', completed_at = v_now, output = k.payload
    from kept k
    where t.run_id = k.run_id and t.step_slug = k.step_slug and t.status = 'waiting'
    returning row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, t.output, null)::pgflow._ended_task as task
  )
  select array_agg(c.task) into v_resumed from changed c;

  insert into pgflow.waits (run_id, step_slug, opened_at, due_at)
  select o.run_id, o.step_slug, v_now, greatest(v_now, p_not_before) + make_interval(secs => st.opt_timeout)
  from unnest(p_opened) o join pgflow.steps st on st.flow_slug = o.flow_slug and st.step_slug = o.step_slug
  where not exists (select from unnest(v_resumed) r where r.run_id = o.run_id and r.step_slug = o.step_slug);

  if v_resumed is null then
    return null;
  end if;
  return (pgflow._complete_steps(v_resumed)).completed_steps;
end $$;

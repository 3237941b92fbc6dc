-- Ends the queued, started and waiting tasks of runs (p_step_slugs null), or of one step of each run (the arrays run in
-- parallel), as p_status, archives their messages, closes their waits and takes them from the parking place. A started attempt that is cut off so is kept in task_attempts.
create function pgflow._end_unfinished_tasks(p_run_ids uuid[], p_step_slugs text[], p_status text)
returns void
language plpgsql
as $$
declare
  v_ended pgflow._ended_task[];
begin
  with unfinished as (
    select t.run_id, t.step_slug, t.task_index, t.status
    from unnest(p_run_ids, p_step_slugs) u(run_id, step_slug)
    join pgflow.step_tasks t on t.run_id = u.run_id and (u.step_slug is null or t.step_slug = u.step_slug)
    where t.status in ('queued', 'started', 'waiting')
    order by t.run_id, t.step_slug, t.task_index
    for no key update of t
  ), changed as (
    update pgflow.step_tasks t set status = p_status
    from unfinished u
    where t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
    returning t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, t.attempts_count, t.last_worker_id,
              t.started_at, u.status as old_status
  ), kept as (
    insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, worker_id, started_at, ended_at, reason)
    select c.run_id, c.step_slug, c.task_index, c.attempts_count, c.last_worker_id, c.started_at, greatest(pgflow.clock(), c.started_at), p_status
    from changed c where c.old_status = 'started'
    on conflict on constraint task_attempts_pkey do nothing
  ), closed as (
    delete from pgflow.waits w using changed c
    where c.old_status = 'waiting' and w.run_id = c.run_id and w.step_slug = c.step_slug
  ), unparked as (
    delete from pgflow.parked_tasks p using changed c
    where c.old_status = 'queued' and c.message_id is null
      and p.run_id = c.run_id and p.step_slug = c.step_slug and p.task_index = c.task_index
  )
  select array_agg(row(c.flow_slug, c.run_id, c.step_slug, c.task_index, c.queue_name, c.message_id, null, null)::pgflow._ended_task)
  into v_ended from changed c;
  if v_ended is not null then
    perform pgflow._archive_messages(v_ended);
  end if;
end $$;

-- Ends the waits of these runs that are due: a wait that timed out has failed, and when_exhausted says what follows. The
-- caller holds the runs. Returns how many there were.
create function pgflow._expire_waits(p_run_ids uuid[])
returns integer
language plpgsql
as $$
declare
  v_expired pgflow._ended_task[];
  v_result record;
begin
  with due as (
    delete from pgflow.waits w using unnest(p_run_ids) u(run_id)
    where w.run_id = u.run_id and w.due_at <= pgflow.clock()
    returning w.run_id, w.step_slug, w.due_at
  ), changed as (
    update pgflow.step_tasks t set
      status = 'failed', failed_at = greatest(pgflow.clock(), t.queued_at),
      error_message = format('Timed out: nobody resumed this wait before %s', to_char(d.due_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'))
    from due d
    where t.run_id = d.run_id and t.step_slug = d.step_slug and t.status = 'waiting'
    returning row(t.flow_slug, t.run_id, t.step_slug, t.task_index, t.queue_name, t.message_id, null, t.error_message)::pgflow._ended_task as task
  )
  select array_agg(c.task) into v_expired from changed c;
  if v_expired is null then
    return 0;
  end if;
  v_result := pgflow._exhaust_steps(v_expired);
  perform pgflow._advance(v_result.skipped_steps, null, v_result.failed_steps);
  return cardinality(v_expired);
end $$;

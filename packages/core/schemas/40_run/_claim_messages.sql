-- Claims the tasks of messages that this transaction has read, and says what became of the other messages.
-- p_are_hidden: the read has hidden them for effective timeout + 2 s already. p_read_counts null: the caller read them in
-- another transaction and does not hold them, so that what is not claimed is left alone; touching it could wait.
-- A suspect is a task that was put back since its worker had vanished: it may have been the cause. p_takes_suspects false: they are left
-- in sight, and the worker is told of them. One that found no worker with nothing else to do for ten minutes is taken like any other.
create function pgflow._claim_messages(
  p_queue_name text, p_flow_slug text, p_step_slug text, p_worker_id uuid, p_ids bigint[], p_read_counts integer[], p_are_hidden boolean,
  p_takes_suspects boolean)
returns pgflow.work_item[]
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_claimed pgflow.work_item[];
begin
  with claimed as (
    update pgflow.step_tasks t set
      -- greatest: the clock is the start of this transaction, which may have waited for a run lock while a younger one
      -- dispatched the task.
      status = 'started', attempts_count = t.attempts_count + 1, started_at = greatest(v_now, t.queued_at),
      last_worker_id = p_worker_id
    from (
      select e.run_id, e.step_slug, e.task_index
      from pgflow.step_tasks e
      where e.queue_name = p_queue_name and e.message_id = any (p_ids) and e.message_id is not null
        -- Says nothing new, but to Postgres 15 and 16: a plan that they make on empty tables looks for the queue alone, and would
        -- read every task that it ever had.
        and e.message_id between (select min(i.id) from unnest(p_ids) i(id)) and (select max(i.id) from unnest(p_ids) i(id))
        and (e.requeued_count = 0 or p_takes_suspects or e.last_requeued_at < v_now - interval '10 minutes')
        and e.status = 'queued' and e.flow_slug = p_flow_slug and (p_step_slug is null or e.step_slug = p_step_slug)
        -- scalar sub-select, not a join: the planner must not start from "the few active runs"
        and (select r.status from pgflow.runs r where r.run_id = e.run_id) = 'started'
        and (select x.status from pgflow.step_states x where x.run_id = e.run_id and x.step_slug = e.step_slug) = 'started'
      for no key update skip locked
    ) eligible
    where t.run_id = eligible.run_id and t.step_slug = eligible.step_slug and t.task_index = eligible.task_index
    returning t.flow_slug, t.run_id, t.step_slug, t.task_index, t.message_id, t.attempts_count, t.input, nextval('pgflow.counted_claims')
  )
  select array_agg(row('claimed', c.flow_slug, c.run_id, c.step_slug, c.task_index, c.message_id, c.attempts_count,
    case when s.step_type = 'map' then c.input
         when s.deps_count = 0 then '{}'::jsonb
         -- _deps_output, in place: a call per task costs as much as what it reads
         else (select coalesce(jsonb_object_agg(x.step_slug, coalesce(x.output, 'null')), '{}')
               from pgflow.deps d join pgflow.step_states x on x.run_id = c.run_id and x.step_slug = d.dep_slug
               where d.flow_slug = c.flow_slug and d.step_slug = c.step_slug and x.status = 'completed') end,
    case when s.step_type = 'single' and s.deps_count = 0
         then (select r.input from pgflow.runs r where r.run_id = c.run_id) end,
    coalesce(s.opt_timeout, f.opt_timeout), null)::pgflow.work_item)
  into v_claimed
  from claimed c
  join pgflow.steps s on s.flow_slug = c.flow_slug and s.step_slug = c.step_slug
  join pgflow.flows f on f.flow_slug = c.flow_slug;

  if not p_are_hidden and v_claimed is not null then
    if (select count(*) from pgflow.set_vt_batch(
          p_queue_name, array(select c.msg_id from unnest(v_claimed) c order by c.msg_id),
          array(select least(c.timeout_seconds, 2147483645) + 2 from unnest(v_claimed) c order by c.msg_id))) < cardinality(v_claimed) then
      perform pgflow._raise('SF301', format('The visibility of messages in queue "%s" could not be set.', p_queue_name),
        'A message of a task that was being claimed is gone.', 'Nothing was claimed. Leave the queue to Starflow: do not delete its messages by hand.');
    end if;
  end if;
  if p_read_counts is not null and coalesce(cardinality(v_claimed), 0) < cardinality(p_ids) then
    return v_claimed || array(
      select u from pgflow._settle_unclaimed(p_queue_name, p_flow_slug, p_step_slug, p_ids, p_read_counts, v_claimed, p_takes_suspects) u);
  end if;
  return v_claimed;
end $$;

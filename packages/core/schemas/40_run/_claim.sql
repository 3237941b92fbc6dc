-- Reads messages and claims their tasks. Holds message rows (pgmq.read skips locked ones) and then task rows, which it
-- takes with skip locked too: it never waits, so it is part of no deadlock. Locks no run or step; eligibility is
-- checked on the locked task, and a run that ends meanwhile ends the task under its own lock.
-- p_alone: false leaves suspects (see _claim_messages) and tells of them; true takes one of them and nothing else; null makes no difference.
create function pgflow._claim(
  p_queue_name text, p_flow_slug text, p_step_slug text, p_worker_id uuid, p_qty integer, p_on_unsupported text,
  p_alone boolean default null)
returns pgflow.work_item[]
language plpgsql
as $$
declare
  v_route record;
  v_ids bigint[];
  v_read_counts integer[];
  v_suspect bigint;
  v_others bigint[];
begin
  -- Its queue is being dropped: nothing to claim, and the next call is told so.
  if not pg_try_advisory_xact_lock_shared(pgflow._deletion_lock(p_flow_slug)) then
    return null;
  end if;
  -- The worker and what it asks for in one statement, of which each costs a plan to start.
  select r.*, w.state, w.is_beat_due into v_route
  from (
    select min(coalesce(s.opt_timeout, f.opt_timeout)) as shortest, max(coalesce(s.opt_timeout, f.opt_timeout)) as longest,
           bool_and(s.queue_name = p_queue_name and (f.queue_mode = 'flow' or p_step_slug is not null)) as is_served,
           bool_or(f.paused_at is not null) as is_paused
    from pgflow.steps s join pgflow.flows f on f.flow_slug = s.flow_slug
    where s.flow_slug = p_flow_slug and (p_step_slug is null or s.step_slug = p_step_slug) and s.step_type <> 'wait'
  ) r cross join pgflow._worker_state(p_worker_id) w;
  if v_route.state <> 'running' then
    return array[row('worker', null, null, null, null, null, null, null, null, null, v_route.state)::pgflow.work_item];
  end if;
  if p_qty is null or p_qty <= 0 then
    return null;
  end if;
  if v_route.is_beat_due then
    perform pgflow._beat_with_claim(p_worker_id);
  end if;
  if v_route.is_served is not true then
    perform pgflow._refuse_subscription(p_queue_name, p_flow_slug, p_step_slug);
  end if;
  -- Who asks for the strict policy in other words must not be given the lax one.
  if p_on_unsupported <> 'skip' and p_on_unsupported <> 'halt' then
    perform pgflow._raise('SF001', format('on_unsupported cannot be "%s".', p_on_unsupported),
      'skip: messages that nobody understands are told and left. halt: one of them stops the worker function.', 'Use skip or halt.');
  end if;
  if v_route.is_paused then
    return null;
  end if;
  -- A queue that is never empty gets what is parked for it and due, too, without cron: as often as its workers beat.
  if v_route.is_beat_due and exists (select from pgflow.parked_tasks p where p.queue_name = p_queue_name and p.due_at <= pgflow.clock()) then
    perform pgflow._send_due_tasks(p_queue_name, pgflow.clock(), 1000);
  end if;

  -- A statement of its own: the next one has a newer snapshot and sees the task of every message read. In one statement
  -- a task committed in between would be missed and its message hidden for the whole visibility.
  select array_agg(m.msg_id), array_agg(m.read_ct) into v_ids, v_read_counts
  from pgmq.read(p_queue_name, case when v_route.shortest = v_route.longest then least(v_route.longest + 2::bigint, 2147483647)::integer else 5 end, p_qty) m;
  if v_ids is null then
    -- Nothing is due in the queue: what is parked for it and due comes in, and the next call reads it.
    if exists (select from pgflow.parked_tasks p where p.queue_name = p_queue_name and p.due_at <= pgflow.clock()) then
      perform pgflow._send_due_tasks(p_queue_name, pgflow.clock(), 1000);
    end if;
    return null;
  end if;

  if p_on_unsupported = 'halt' and pgflow._halt_on_unsupported(p_queue_name, p_flow_slug, p_step_slug, p_worker_id, v_ids) then
    return array(
      select row('halted', t.flow_slug, t.run_id, t.step_slug, t.task_index, i.id, null, null, null, null, null)::pgflow.work_item
      from unnest(v_ids) i(id)
      left join pgflow.step_tasks t on t.queue_name = p_queue_name and t.message_id = i.id
      where t.run_id is null or t.flow_slug <> p_flow_slug or t.step_slug <> coalesce(p_step_slug, t.step_slug));
  end if;

  if p_alone then
    v_suspect := (
      select min(t.message_id) from pgflow.step_tasks t
      where t.queue_name = p_queue_name and t.message_id = any (v_ids) and t.message_id is not null
        and t.status = 'queued' and t.requeued_count > 0);
    v_others := array(select i.id from unnest(v_ids) i(id) where i.id is distinct from v_suspect order by 1);
    perform pgflow.set_vt_batch(p_queue_name, v_others, array_fill(0, array[cardinality(v_others)]));
    if v_suspect is null then
      return null;
    end if;
    v_read_counts := array[v_read_counts[array_position(v_ids, v_suspect)]];
    v_ids := array[v_suspect];
  end if;
  return pgflow._claim_messages(p_queue_name, p_flow_slug, p_step_slug, p_worker_id, v_ids, v_read_counts,
                                v_route.shortest = v_route.longest, p_alone is distinct from false);
end $$;

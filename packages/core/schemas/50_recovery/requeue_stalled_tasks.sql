-- Called by cron and by workers that met a stalled task. Ends the waits that are due and sends the messages of parked tasks whose time comes, too. Takes runs in id order with skip locked (a busy run is alive,
-- and the next pass sees it), then their tasks, states and messages, like a settlement.
create function pgflow.requeue_stalled_tasks()
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  -- The next pass may be a while away: a message sent too early is hidden until its task is due.
  v_due_until timestamptz := pgflow.clock() + interval '1 minute';
  v_queue text;
  v_suspects uuid[] := pgflow._stalled_run_ids() || array(select w.run_id from pgflow.waits w where w.due_at <= pgflow.clock());
  v_runs uuid[];
  v_run_id uuid;
  v_count integer := 0;
  v_until timestamptz;
begin
  -- In the order of their names, as whoever looks at many queues does.
  for v_queue in
    select q.queue_name from (select distinct s.queue_name from pgflow._routes s) q
    where exists (select from pgflow.parked_tasks p where p.queue_name = q.queue_name and p.due_at <= v_due_until)
    order by q.queue_name
  loop
    begin
      perform pgflow._send_due_tasks(v_queue, v_due_until, 5000);
    exception when undefined_table then
      -- A queue dropped by hand; its tasks stay parked until it is made again.
      continue;
    when others then
      raise warning 'parked tasks of queue % cannot be sent: %', v_queue, sqlerrm;
    end;
  end loop;
  select array_agg(l.run_id) into v_runs from (
    select r.run_id from pgflow.runs r
    where r.status not in ('completed', 'failed', 'cancelled') and r.run_id = any (v_suspects)
    order by r.run_id for no key update skip locked
  ) l;
  -- Watches that are over go too; one that is being prolonged right now is left.
  delete from pgflow.watched_runs w where w.run_id in (
    select o.run_id from pgflow.watched_runs o where o.watched_until < pgflow.clock() for update skip locked);
  if v_runs is null then
    return 0;
  end if;
  begin
    perform pgflow._expire_waits(v_runs);
    return pgflow._recover_stalled_tasks(v_runs);
  exception when others then
    -- One of them is damaged (a counter edited by hand, say): each by itself, so that it holds up no other.
  end;
  -- This holds their locks: for a few seconds, and the next pass goes on, with others first.
  v_until := clock_timestamp() + interval '5 seconds';
  for v_run_id in select u.run_id from unnest(v_runs) u(run_id) order by random() loop
    exit when clock_timestamp() > v_until;
    begin
      perform pgflow._expire_waits(array[v_run_id]);
      v_count := v_count + pgflow._recover_stalled_tasks(array[v_run_id]);
    exception when others then
      raise warning 'run % cannot be recovered: %', v_run_id, sqlerrm using hint = 'See: select * from pgflow.liveness_audit;';
    end;
  end loop;
  return v_count;
end $$;
comment on function pgflow.requeue_stalled_tasks() is
  'Puts tasks back whose worker did not report before started_at + effective timeout + 30 s; ends those without attempts or requeues left, and waits whose timeout has come, and sends the messages of parked tasks that are due within a minute. Returns how many were put back.';

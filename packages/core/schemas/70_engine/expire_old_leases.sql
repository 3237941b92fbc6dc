-- Waits for no run: what somebody locks is being written by its runner (then its lease may be refreshed), resumed, cancelled or swept
-- by another server, and is looked at again next time. At most max_rows runs of each kind in one call, so that no timeout of the
-- statement can undo all of it again and again: whoever gets as many calls again.
create function starflow.expire_old_leases(
  ttl_ms bigint, max_losses integer, reason text default 'runner_lost', max_rows integer default 500)
returns table (run_id uuid, outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  v_run starflow.workflow_runs;
begin
  delete from starflow.workflow_runners w
  where w.runner_id in (
    select o.runner_id from starflow.workflow_runners o where o.live_until < pgflow.clock() - interval '1 day' for update skip locked);

  for v_run in
    select * from starflow.workflow_runs r
    where r.lease_until < pgflow.clock()
       or (r.lease_until is null and r.claim_state = 'running' and r.claim_state_at < pgflow.clock() - starflow._milliseconds(ttl_ms))
    order by r.lease_until
    limit max_rows
    for no key update skip locked
  loop
    if starflow._has_ended(v_run.status) then
      update starflow.workflow_runs r set leased_by = null, lease_until = null where r.id = v_run.id;
      continue;
    end if;
    return query select v_run.id, starflow._lose_runner(v_run, max_losses, expire_old_leases.reason);
  end loop;

  for v_run in
    select * from starflow.workflow_runs r
    where r.id in (select w.run_id from starflow.workflow_waits w where w.status = 'open' and w.due_at <= pgflow.clock())
      and r.status = 'paused'
    order by r.id
    limit max_rows
    for no key update skip locked
  loop
    -- A resume may have come in before the lock: then nothing is due any longer.
    update starflow.workflow_waits w set status = 'timed_out', ended_at = pgflow.clock()
    where w.run_id = v_run.id and w.status = 'open' and w.due_at <= pgflow.clock();
    if found then
      perform starflow._wait_is_over(v_run);
      return query values (v_run.id, 'wait_over');
    end if;
  end loop;
end $$;
comment on function starflow.expire_old_leases(bigint, integer, text, integer) is
  'The sweep: runs whose runner is lost go back to the queue, or end as abandoned after max_losses without progress; paused runs whose wait is due are queued. outcome: requeued, abandoned or wait_over.';

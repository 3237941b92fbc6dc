-- Locks the run, then its tasks and messages, like a settlement.
create function pgflow.cancel_run(run_id uuid, reason text default null)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_run pgflow.runs;
begin
  select * into v_run from pgflow.runs r where r.run_id = cancel_run.run_id for no key update;
  if v_run.run_id is null or not pgflow._may_change(v_run.owner) then
    return;
  end if;
  if v_run.status = 'started' then
    update pgflow.runs r set status = 'cancelled', cancelled_at = greatest(pgflow.clock(), r.started_at), cancel_reason = left(reason, 2000)
    where r.run_id = cancel_run.run_id
    returning * into v_run;
    perform nextval('pgflow.counted_runs_cancelled');
    perform pgflow._end_unfinished_tasks(array[cancel_run.run_id], null, 'cancelled');
    perform pgflow._send_run_event(v_run, 'run:cancelled', jsonb_build_object('cancelled_at', v_run.cancelled_at, 'reason', v_run.cancel_reason));
  end if;
  return next v_run;
end $$;
comment on function pgflow.cancel_run(uuid, text) is
  'Cancels a started run: its unfinished tasks and messages end with it, and no late report revives them. Returns the run as it is; one that has ended stays as it ended.';

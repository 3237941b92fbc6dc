-- Gives a run its end and drops what goes with it: its checkpoint, its open waits, its session variables without keepUntil.
-- The lease stays with who ended the run, so that it can repeat its last write; whoever was cancelled or lost has none. The caller
-- holds the row.
create function starflow._end_run(
  p_run starflow.workflow_runs, p_status text, p_claim_state text, p_output jsonb default null, p_error text default null,
  p_duration_ms bigint default null)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := greatest(pgflow.clock(), p_run.started_at);
begin
  update starflow.workflow_runs r set
    status = p_status, claim_state = p_claim_state, claim_state_at = v_now, output = p_output, error = p_error,
    checkpoint_json = null, paused_nodes = null,
    leased_by = case when p_status <> 'cancelled' and p_claim_state <> 'abandoned' then r.leased_by end,
    lease_until = case when p_status <> 'cancelled' and p_claim_state <> 'abandoned' then r.lease_until end,
    completed_at = case when p_status <> 'cancelled' then v_now end,
    cancelled_at = case when p_status = 'cancelled' then v_now end,
    -- Runs may last longer than the 24 days that the column can tell.
    duration_ms = least(greatest(coalesce(p_duration_ms, extract(epoch from v_now - p_run.started_at) * 1000), 0), 2147483647)
  where r.id = p_run.id;
  perform nextval(case p_status when 'success' then 'starflow.counted_runs_succeeded' when 'error' then 'starflow.counted_runs_failed'
                  else 'starflow.counted_runs_cancelled' end::regclass);
  delete from starflow.workflow_waits w where w.run_id = p_run.id and w.status = 'open';
  delete from starflow.workflow_session_vars v where v.run_id = p_run.id and v.keep_until is null;
end $$;

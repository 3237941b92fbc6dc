-- Whether one of the waits that the run was paused for has its payload, or its timeout, already: one that ended while the run was still held
-- has queued nothing. The caller holds the row.
create function starflow._has_wait_over(p_run starflow.workflow_runs)
returns boolean
language sql
stable
as $$
  select exists (
    select from starflow.workflow_waits w
    where w.run_id = p_run.id and w.node_id = any (p_run.paused_nodes) and w.status <> 'open')
$$;

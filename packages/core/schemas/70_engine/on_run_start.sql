create function starflow.on_run_start(
  run_id uuid, template_id text, workspace_id text, env text, input jsonb, definition_id uuid default null,
  runner_id text default null, claim_attempts integer default null,
  traceparent text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs;
begin
  -- Who has a claim has a run.
  if on_run_start.runner_id is null then
    insert into starflow.workflow_runs as r (
      id, template_id, workspace_id, env, input, definition_id, status, claim_state, claim_state_at, created_at, started_at,
      traceparent)
    values (
      on_run_start.run_id, on_run_start.template_id, on_run_start.workspace_id, on_run_start.env, coalesce(on_run_start.input, 'null'),
      on_run_start.definition_id, 'running', 'running', pgflow.clock(), pgflow.clock(), pgflow.clock(),
      on_run_start.traceparent)
    on conflict (id) do nothing;
    if found then
      perform nextval('starflow.counted_runs_started');
      perform starflow._append_event(on_run_start.run_id, 'run_started', null, null);
      return;
    end if;
  end if;
  v_run := starflow._lock_open_run(on_run_start.run_id, on_run_start.runner_id, on_run_start.claim_attempts);
  perform starflow._check_same_run(v_run, on_run_start.template_id, on_run_start.workspace_id, on_run_start.env);
  if v_run.claim_state in ('running', 'paused') then
    return;
  end if;
  update starflow.workflow_runs r set
    status = case r.status when 'paused' then 'paused' else 'running' end,
    claim_state = 'running', claim_state_at = pgflow.clock(), started_at = coalesce(r.started_at, pgflow.clock())
  where r.id = on_run_start.run_id;
  if v_run.started_at is null then
    perform starflow._append_event(on_run_start.run_id, 'run_started', null, null);
  end if;
end $$;
comment on function starflow.on_run_start(uuid, text, text, text, jsonb, uuid, text, integer, text) is
  'The run begins to execute: inserts it when it was never enqueued, else moves it from claimed to running. A paused run keeps its status until on_run_resumed.';

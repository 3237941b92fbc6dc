create function starflow.enqueue_run(
  run_id uuid, template_id text, workspace_id text, env text, input jsonb, definition_id uuid default null, runner_pool text default null,
  idempotency_key text default null, delay_ms bigint default 0, traceparent text default null)
returns table (id uuid, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs;
begin
  perform pgflow._check_idempotency_key(enqueue_run.template_id, enqueue_run.idempotency_key);
  -- Whichever unique index is met: who inserts the same at this moment is waited for, and then found.
  insert into starflow.workflow_runs as r (
    id, template_id, workspace_id, env, input, definition_id, runner_pool, idempotency_key, status, claim_state, claim_state_at, created_at,
    queued_at, available_at, traceparent)
  values (
    enqueue_run.run_id, enqueue_run.template_id, enqueue_run.workspace_id, enqueue_run.env, coalesce(enqueue_run.input, 'null'),
    enqueue_run.definition_id, enqueue_run.runner_pool, enqueue_run.idempotency_key, 'queued', 'queued', pgflow.clock(), pgflow.clock(),
    pgflow.clock(), pgflow.clock() + starflow._milliseconds(delay_ms), enqueue_run.traceparent)
  on conflict do nothing;
  if found then
    perform nextval('starflow.counted_runs_started');
    if delay_ms <= 0 then
      perform starflow._wake_runners(enqueue_run.runner_pool);
    end if;
    return query values (enqueue_run.run_id, true);
    return;
  end if;
  select * into v_run from starflow.workflow_runs r where r.id = enqueue_run.run_id;
  if v_run.id is null then
    select * into v_run from starflow.workflow_runs r
    where r.workspace_id = enqueue_run.workspace_id and r.env = enqueue_run.env and r.idempotency_key = enqueue_run.idempotency_key;
  end if;
  perform starflow._check_same_run(v_run, enqueue_run.template_id, enqueue_run.workspace_id, enqueue_run.env);
  return query values (v_run.id, false);
end $$;
comment on function starflow.enqueue_run(uuid, text, text, text, jsonb, uuid, text, text, bigint, text) is
  'Queues a run. The same id, or the same idempotency key in its workspace and env, gives the run that is there.';

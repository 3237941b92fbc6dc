-- One transaction with start_flow. The row comes first: of two starts with one key the second waits for the first here, and
-- then is given its run.
create function starflow.start_queue_run(
  workspace_id text, env text, flow_slug text, input jsonb, idempotency_key text default null, delay_ms bigint default 0,
  traceparent text default null)
returns table (run_id uuid, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_id uuid := pgflow.new_run_id();
  v_existing starflow.queue_runs;
begin
  perform pgflow._check_idempotency_key(start_queue_run.flow_slug, start_queue_run.idempotency_key);
  insert into starflow.queue_runs (run_id, workspace_id, env, flow_slug, idempotency_key, started_at)
  values (v_run_id, start_queue_run.workspace_id, start_queue_run.env, start_queue_run.flow_slug, start_queue_run.idempotency_key, pgflow.clock())
  on conflict do nothing;
  if not found then
    select * into v_existing from starflow.queue_runs q
    where q.workspace_id = start_queue_run.workspace_id and q.env = start_queue_run.env and q.idempotency_key = start_queue_run.idempotency_key;
    if v_existing.flow_slug <> start_queue_run.flow_slug then
      perform pgflow._raise('SF202', format('Idempotency key "%s" is taken.', start_queue_run.idempotency_key),
        format('It started run %s of flow "%s".', v_existing.run_id, v_existing.flow_slug), 'Use another key for another flow.');
    end if;
    return query values (v_existing.run_id, false);
    return;
  end if;
  if start_queue_run.traceparent is not null then
    perform set_config('pgflow.traceparent', start_queue_run.traceparent, true);
  end if;
  perform pgflow.start_flow(start_queue_run.flow_slug, start_queue_run.input, v_run_id,
    start_at => case when delay_ms > 0 then pgflow.clock() + starflow._milliseconds(delay_ms) end);
  return query values (v_run_id, true);
end $$;
comment on function starflow.start_queue_run(text, text, text, jsonb, text, bigint, text) is
  'Starts a run in queue placement for a workspace, within the trace of traceparent. The same idempotency key in its workspace and env gives the run that it started.';

create function pgflow.settle_tasks(worker_id uuid, reports jsonb)
returns setof pgflow.settled_report
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_refused pgflow._refused_report[];
begin
  perform pgflow._check_reports(settle_tasks.worker_id, reports);
  v_refused := pgflow._settle(settle_tasks.worker_id, reports);
  return query
    select u.run_id, u.step_slug, u.task_index, r.reason is null, r.reason
    from unnest(pgflow._parse_reports(reports)) with ordinality
      u(run_id, step_slug, task_index, attempt, status, output, error_message, error_name, error_stack, retry_delay, permanent, forgiven, problem, ordinal)
    left join unnest(v_refused) r on r.ordinal = u.ordinal
    order by u.ordinal;
end $$;
comment on function pgflow.settle_tasks(uuid, jsonb) is
  'Reports the outcome of many attempts of many runs: [{run_id, step_slug, task_index, attempt, status: completed|failed, output (JSON text), error_message, error: {name, stack}, retry_delay (s), permanent, forgiven}]. forgiven: the platform failed, not the handler; the attempt does not count, ten times a task at most, unless the step has one attempt. One row per report: accepted, or the reason why not.';

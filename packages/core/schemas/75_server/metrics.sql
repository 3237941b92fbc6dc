-- Cheap enough for every few seconds: bounded passes over queues, and indexes that hold only what is open. One value, because an
-- API in front may bound the rows of an answer.
create function starflow.metrics(warn_ms bigint default 2000, page_ms bigint default 30000)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
  select jsonb_build_object(
    'samples', jsonb_agg(s),
    'lag', case when starflow._is_mirrored() then (select to_jsonb(l) from starflow.outbox_lag(metrics.warn_ms, metrics.page_ms) l) end)
  from (
    select * from starflow._queue_metrics()
    union all select * from starflow._run_metrics()
    union all
    select 'starflow_alerts_open', jsonb_build_object('rule', p.rule), count(*) from starflow.alert_problems p
    where p.resolved_at is null and p.opened_at is not null group by p.rule
    union all select c.metric, c.labels, starflow._count(c.sequence::regclass)
    from (values
      ('starflow_runs_started_total', '{"placement": "queue"}'::jsonb, 'pgflow.counted_runs_started'),
      ('starflow_runs_started_total', '{"placement": "runner"}', 'starflow.counted_runs_started'),
      ('starflow_runs_ended_total', '{"placement": "queue", "status": "success"}', 'pgflow.counted_runs_completed'),
      ('starflow_runs_ended_total', '{"placement": "queue", "status": "error"}', 'pgflow.counted_runs_failed'),
      ('starflow_runs_ended_total', '{"placement": "queue", "status": "cancelled"}', 'pgflow.counted_runs_cancelled'),
      ('starflow_runs_ended_total', '{"placement": "runner", "status": "success"}', 'starflow.counted_runs_succeeded'),
      ('starflow_runs_ended_total', '{"placement": "runner", "status": "error"}', 'starflow.counted_runs_failed'),
      ('starflow_runs_ended_total', '{"placement": "runner", "status": "cancelled"}', 'starflow.counted_runs_cancelled'),
      ('starflow_task_claims_total', '{}', 'pgflow.counted_claims'),
      ('starflow_task_settles_total', '{"outcome": "completed"}', 'pgflow.counted_completions'),
      ('starflow_task_settles_total', '{"outcome": "failed"}', 'pgflow.counted_failures'),
      ('starflow_stale_reports_total', '{}', 'pgflow.counted_refusals'),
      ('starflow_stalled_requeues_total', '{}', 'pgflow.counted_requeues'),
      ('starflow_run_claims_total', '{}', 'starflow.counted_claims'),
      ('starflow_leases_lost_total', '{}', 'starflow.counted_losses')
    ) c (metric, labels, sequence)
  ) s);
end $$;
comment on function starflow.metrics(bigint, bigint) is
  'What monitoring asks of this database: { samples: [{ metric, labels, value }], lag }, lag as outbox_lag tells it, while runs are mirrored. docs/operations/metrics.md explains each.';

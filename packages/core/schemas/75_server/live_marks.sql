-- One cheap look for everybody who listens: a mark of each kind of thing that changes when something of the kind does. Counters move before
-- their transaction commits, so whoever compares marks looks once more after a change. Of each run, a mark of its own.
create function starflow.live_marks(run_ids uuid[] default '{}')
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'runs', concat_ws('.',
      starflow._count('pgflow.counted_runs_started'), starflow._count('pgflow.counted_runs_completed'), starflow._count('pgflow.counted_runs_failed'),
      starflow._count('pgflow.counted_runs_cancelled'), starflow._count('pgflow.counted_claims'), starflow._count('pgflow.counted_completions'),
      starflow._count('starflow.counted_runs_started'), starflow._count('starflow.workflow_run_events_id_seq')),
    'queues', concat_ws('.',
      starflow._count('pgflow.counted_runs_started'), starflow._count('pgflow.counted_claims'), starflow._count('pgflow.counted_completions'),
      starflow._count('pgflow.counted_failures'), starflow._count('pgflow.counted_requeues'), starflow._count('pgflow.counted_runs_cancelled')),
    'workers', (select concat_ws('.', count(*), count(*) filter (where pgflow._heartbeat_is_fresh(w)), count(w.deprecated_at), max(w.started_at))
                from pgflow.workers w where w.stopped_at is null),
    'functions', (select concat_ws('.', count(*), count(*) filter (where f.enabled), count(f.fenced_by), max(f.last_error_at), sum(f.failed_starts))
                  from pgflow.worker_functions f),
    'waits', concat_ws('.',
      (select count(*) from (select from pgflow.waits w limit 10000) x),
      (select count(*) from (select from starflow.workflow_waits w where w.status = 'open' limit 10000) x),
      (select max(w.opened_at) from starflow.workflow_waits w where w.status = 'open')),
    'flows', (select concat_ws('.', count(*), max(f.compiled_at), count(f.paused_at)) from pgflow.flows f),
    'runners', concat_ws('.',
      (select concat_ws('.', count(*), count(*) filter (where r.live_until > pgflow.clock()), max(r.started_at)) from starflow.workflow_runners r),
      starflow._count('starflow.counted_claims'), starflow._count('starflow.counted_losses'),
      (select count(*) from starflow.workflow_runs r where r.lease_until is not null)),
    'run', (
      select coalesce(jsonb_object_agg(u.run_id, concat_ws('.',
        (select r.status from pgflow.runs r where r.run_id = u.run_id),
        (select concat_ws('.', count(*) filter (where t.status = 'queued'), count(*) filter (where t.status = 'started'),
                          count(*) filter (where t.status = 'completed'), count(*), sum(t.attempts_count))
         from pgflow.step_tasks t where t.run_id = u.run_id),
        (select count(*) from pgflow.step_states s where s.run_id = u.run_id and s.status in ('skipped', 'failed')),
        (select max(e.id) from starflow.workflow_run_events e where e.run_id = u.run_id))), '{}')
      from unnest(run_ids) u(run_id)));
end $$;
comment on function starflow.live_marks(uuid[]) is
  'For each kind of thing (runs, queues, workers, functions, waits, flows, runners) a text that is another one after something of the kind has changed, and one for each of these runs.';

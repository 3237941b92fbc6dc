-- Ends runs as failed: the failing step, every unfinished task (cancelled) and its message go in the same transaction,
-- so that nothing of a failed run is ever polled again. The caller holds the runs' locks. Where several steps of a run
-- fail at once, each is marked and the run fails once.
create function pgflow._fail_runs(p_failed pgflow._failed_step[])
returns void
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_runs uuid[] := array(select distinct f.run_id from unnest(p_failed) f);
  v_failed_count integer;
begin
  update pgflow.step_states s set
    status = 'failed', failed_at = greatest(v_now, s.created_at, s.started_at), error_message = f.error_message, output = null
  from unnest(p_failed) f
  where s.run_id = f.run_id and s.step_slug = f.step_slug and s.status in ('created', 'started');

  update pgflow.runs r set status = 'failed', failed_at = greatest(v_now, r.started_at)
  where r.run_id = any (v_runs) and r.status not in ('completed', 'failed', 'cancelled');
  get diagnostics v_failed_count = row_count;
  perform nextval('pgflow.counted_runs_failed') from generate_series(1, v_failed_count);

  perform pgflow._end_unfinished_tasks(v_runs, null, 'cancelled');
end $$;

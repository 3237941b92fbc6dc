-- The key finds the job again: a step that begins anew, with another runner or after a failure of its own, gets the job that it has
-- handed out before, with its result if there is one. Only a job that has failed is handed out anew: the step asks for another attempt.
create function starflow.enqueue_worker_job(
  run_id uuid, node_id text, kind text, payload jsonb, idempotency_key text,
  runner_id text default null, claim_attempts integer default null)
returns setof starflow.worker_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform starflow._lock_open_run(
    enqueue_worker_job.run_id, enqueue_worker_job.runner_id, enqueue_worker_job.claim_attempts);
  return query
    insert into starflow.worker_jobs as j (run_id, node_id, kind, payload, idempotency_key, created_at)
    values (enqueue_worker_job.run_id, enqueue_worker_job.node_id, enqueue_worker_job.kind,
            coalesce(enqueue_worker_job.payload, 'null'), enqueue_worker_job.idempotency_key, pgflow.clock())
    on conflict (run_id, idempotency_key) do update
    set status = case when j.status in ('failed', 'cancelled') then 'queued' else j.status end,
        completed_at = case when j.status = 'completed' then j.completed_at end,
        error = case when j.status = 'cancelled' then null else j.error end,
        lost_leases = case when j.status in ('failed', 'cancelled') then 0 else j.lost_leases end,
        is_permanent = false
    returning j.*;
end $$;
comment on function starflow.enqueue_worker_job(uuid, text, text, jsonb, text, text, integer) is
  'A step hands work out, or finds what it has handed out under this key before. A job that has failed is queued again.';

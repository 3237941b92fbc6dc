create function pgflow.mark_worker_stopped(worker_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w set stopped_at = coalesce(w.stopped_at, pgflow.clock()) where w.worker_id = mark_worker_stopped.worker_id;
  perform pgflow._queue_was_served(mark_worker_stopped.worker_id);
end $$;
comment on function pgflow.mark_worker_stopped(uuid) is 'The last thing a worker says: its function may be pinged for a new one at once.';

create function pgflow.deprecate_worker(worker_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w set deprecated_at = coalesce(w.deprecated_at, pgflow.clock()) where w.worker_id = deprecate_worker.worker_id;
  perform pgflow._queue_was_served(deprecate_worker.worker_id);
end $$;
comment on function pgflow.deprecate_worker(uuid) is 'A worker past half of its life: claims no more, finishes what it has, and lets a new one be started.';

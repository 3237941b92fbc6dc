-- Remembers that a worker served its queue until now: ensure_workers waits for a queue's next worker for a while, and not
-- for ever for one that the function does not host any longer.
create function pgflow._queue_was_served(p_worker_id uuid)
returns void
language plpgsql
as $$
begin
  update pgflow.worker_function_queues q set served_at = pgflow.clock()
  from pgflow.workers w
  where w.worker_id = p_worker_id and q.function_name = w.function_name and q.queue_name = w.queue_name
    and q.served_at < pgflow.clock() - interval '1 minute';
end $$;

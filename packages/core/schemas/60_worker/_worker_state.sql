-- Whether a worker may go on claiming: running, deprecated (told to stop, or stopped), fenced (its function, or its queue
-- of a grouped function, is disabled), or unknown (no row).
create function pgflow._worker_state(p_worker_id uuid)
returns text
language plpgsql stable
as $$
begin
  return coalesce((
    select case when w.deprecated_at is not null or w.stopped_at is not null then 'deprecated'
                when (select f.enabled from pgflow.worker_functions f where f.function_name = w.function_name) is false then 'fenced'
                when (select q.enabled from pgflow.worker_function_queues q
                      where q.function_name = w.function_name and q.queue_name = w.queue_name) is false then 'fenced'
                else 'running' end
    from pgflow.workers w where w.worker_id = p_worker_id), 'unknown');
end $$;

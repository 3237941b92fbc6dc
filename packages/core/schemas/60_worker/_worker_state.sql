-- Whether a worker may go on claiming: running, deprecated (told to stop, or stopped), fenced (its function, or its queue
-- of a grouped function, is disabled), or unknown (no row); and whether its heartbeat is old enough to be written by a claim.
-- A set of one row, so that it becomes part of the statement that asks.
create function pgflow._worker_state(p_worker_id uuid)
returns table (state text, is_beat_due boolean)
language sql stable
as $$
  select case when w.worker_id is null then 'unknown'
              when w.deprecated_at is not null or w.stopped_at is not null then 'deprecated'
              when (select f.enabled from pgflow.worker_functions f where f.function_name = w.function_name) is false then 'fenced'
              when (select q.enabled from pgflow.worker_function_queues q
                    where q.function_name = w.function_name and q.queue_name = w.queue_name) is false then 'fenced'
              else 'running' end,
         w.last_heartbeat_at not between pgflow.clock() - interval '3 seconds' and pgflow.clock() + interval '3 seconds'
  from (values (p_worker_id)) asked(worker_id) left join pgflow.workers w on w.worker_id = asked.worker_id
$$;

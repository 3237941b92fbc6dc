-- What an isolate or process has used, and what for. Its CPU cannot be told apart by worker, so it is set against the tasks of all of
-- them, also of those that have stopped. No count where one of them does not tell its own.
create function pgflow._execution_usage(p_execution_id uuid, out worker_count integer, out tasks_count bigint, out cpu_ms bigint)
language sql stable
as $$
  select count(*)::integer, case when bool_and(w.tasks_count is not null) then sum(w.tasks_count) end, max(w.cpu_ms)
  from pgflow.workers w where coalesce(w.execution_id, w.worker_id) = p_execution_id
$$;

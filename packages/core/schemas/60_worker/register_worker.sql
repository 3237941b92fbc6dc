-- After the compile, never before. Registering never touches the fence. A second registration under one id (a runtime
-- that restarts an isolate with its execution id) takes the row over.
create function pgflow.register_worker(worker_id uuid, queue_name text, function_name text, start_mode text default 'http', execution_id uuid default null)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow.track_worker_function(register_worker.function_name, register_worker.start_mode);
  update pgflow.worker_functions f set failed_starts = 0, last_error = null, last_error_at = null
  where f.function_name = register_worker.function_name and f.failed_starts > 0;
  insert into pgflow.worker_function_queues as q (function_name, queue_name, served_at)
  values (register_worker.function_name, register_worker.queue_name, pgflow.clock())
  on conflict on constraint worker_function_queues_pkey do update set served_at = excluded.served_at;
  insert into pgflow.workers as w (worker_id, queue_name, function_name, started_at, last_heartbeat_at, execution_id, tasks_count)
  values (register_worker.worker_id, register_worker.queue_name, register_worker.function_name, pgflow.clock(), pgflow.clock(),
          register_worker.execution_id, 0)
  on conflict on constraint workers_pkey do update set
    queue_name = excluded.queue_name, function_name = excluded.function_name, started_at = excluded.started_at,
    last_heartbeat_at = excluded.last_heartbeat_at, deprecated_at = null, stopped_at = null,
    execution_id = excluded.execution_id, tasks_count = 0, cpu_ms = null;
  return (select w.state from pgflow._worker_state(register_worker.worker_id) w);
end $$;
comment on function pgflow.register_worker(uuid, text, text, text, uuid) is 'Makes a worker known and answers its state: running, or fenced while its function is disabled. execution_id is what the host calls the isolate or process that it lives in.';

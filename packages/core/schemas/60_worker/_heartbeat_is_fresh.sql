-- Live: not stopped, and heard of within the longer of its function's debounce and 12 s (two heartbeats of 5 s and some). One that is further in
-- the future than that is from before the clock was set back.
create function pgflow._heartbeat_is_fresh(p_worker pgflow.workers)
returns boolean
language plpgsql stable
as $$
declare
  v_window interval := greatest(
    interval '12 seconds', (select f.debounce from pgflow.worker_functions f where f.function_name = p_worker.function_name));
begin
  return p_worker.stopped_at is null and p_worker.last_heartbeat_at between pgflow.clock() - v_window and pgflow.clock() + v_window;
end $$;

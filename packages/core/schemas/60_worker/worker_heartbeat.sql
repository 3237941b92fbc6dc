create function pgflow.worker_heartbeat(worker_id uuid)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w set last_heartbeat_at = pgflow.clock() where w.worker_id = worker_heartbeat.worker_id;
  return (select w.state from pgflow._worker_state(worker_heartbeat.worker_id) w);
end $$;
comment on function pgflow.worker_heartbeat(uuid) is 'Every 5 s from each worker. Answers whether to go on: running, deprecated, fenced or unknown.';

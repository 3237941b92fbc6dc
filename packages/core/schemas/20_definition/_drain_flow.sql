-- Tells the live workers of a flow to stop and answers how many are still alive. A released worker writes the slug of its flow,
-- in its own case, as the name of its queue.
create function pgflow._drain_flow(p_flow_slug text)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queues text[] := pgflow._flow_queues(p_flow_slug);
begin
  update pgflow.workers w set deprecated_at = pgflow.clock()
  from (
    select x.worker_id from pgflow.workers x
    where lower(x.queue_name collate "C") = any (v_queues) and x.deprecated_at is null and x.stopped_at is null
    order by x.worker_id for no key update
  ) told
  where w.worker_id = told.worker_id;
  return (select count(*) from pgflow.workers w
          where lower(w.queue_name collate "C") = any (v_queues)
            and pgflow._heartbeat_is_fresh(w));
end $$;

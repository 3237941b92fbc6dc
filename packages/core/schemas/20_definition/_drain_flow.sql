-- Tells the live workers of a flow to stop and answers how many are still alive.
create function pgflow._drain_flow(p_flow_slug text)
returns integer
language plpgsql
set search_path = ''
as $$
begin
  update pgflow.workers w set deprecated_at = pgflow.clock()
  where w.queue_name in (select s.queue_name from pgflow._routes s where s.flow_slug = p_flow_slug)
    and w.deprecated_at is null and w.stopped_at is null;
  return (select count(*) from pgflow.workers w
          where w.queue_name in (select s.queue_name from pgflow._routes s where s.flow_slug = p_flow_slug)
            and pgflow._heartbeat_is_fresh(w));
end $$;

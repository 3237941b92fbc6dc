-- One writer at a time of the definition of a concrete slug, in every spelling: first in the lock order.
create function pgflow._lock_flow(p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('pgflow.flow:' || lower(p_flow_slug collate "C"), 0));
end $$;

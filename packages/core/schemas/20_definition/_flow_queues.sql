-- The queues of a flow: those of its persisted routes, and the default queue of a plain flow, which it has without steps too.
create function pgflow._flow_queues(p_flow_slug text)
returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select s.queue_name from pgflow._routes s where s.flow_slug = p_flow_slug
    union
    select lower(f.flow_slug collate "C") from pgflow.flows f where f.flow_slug = p_flow_slug and f.queue_mode = 'flow'
    order by 1);
end $$;

create function pgflow.flow_worker_functions(flow_slug text)
returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select distinct x.function_name from pgflow._queue_functions x
    where x.queue_name in (select s.queue_name from pgflow._routes s where s.flow_slug = flow_worker_functions.flow_slug)
       -- A grouped function bears the name of its flow.
       or (x.queue_name = lower(flow_worker_functions.flow_slug collate "C")
           and exists (select from pgflow.flows f where f.flow_slug = flow_worker_functions.flow_slug))
    order by 1;
end $$;
comment on function pgflow.flow_worker_functions(text) is
  'The complete set of worker functions of a flow: all that have registered for one of its queues, and those known under a queue''s name.';

-- A queue worker's first act. It must be there already: a queue made by the start of a worker would hide a misspelt name.
create function pgflow.find_worker_queue(queue_name text)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := lower(find_worker_queue.queue_name collate "C");
  v_owner record;
begin
  select s.flow_slug, s.step_slug into v_owner from pgflow._routes s where s.queue_name = v_name order by s.step_index limit 1;
  if v_owner.flow_slug is not null then
    perform pgflow._raise('SF411', format('Queue "%s" belongs to flow "%s".', v_name, v_owner.flow_slug),
      'A queue worker would take the messages away from the tasks they stand for.',
      format('Start a worker of flow "%s" instead, or give this worker a queue of its own.', v_owner.flow_slug));
  end if;
  if not exists (select from pgmq.list_queues() q where lower(q.queue_name collate "C") = v_name) then
    perform pgflow._raise('SF410', format('There is no queue "%s".', v_name),
      coalesce('Queues without a flow: ' || (
        select string_agg(l.queue_name, ', ' order by l.queue_name)
        from (select q.queue_name::text from pgmq.list_queues() q
              where lower(q.queue_name collate "C") not in (select s.queue_name from pgflow._routes s) order by 1 limit 20) l) || '.',
        'There are no queues without a flow.'),
      format('Create it in a migration: select pgmq.create(%L);', v_name));
  end if;
  return v_name;
end $$;
comment on function pgflow.find_worker_queue(text) is 'The name under which a queue worker polls: lower case, existing, of no flow.';

-- pgmq's queues are in no dump: its tables belong to the extension. Makes those that routes name and that are not there. Takes the lock of
-- each flow first, in the order of slugs: pgmq below 1.5.2 takes none when it creates.
create function pgflow.restore_queues()
returns setof text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow record;
  v_queue text;
begin
  for v_flow in select f.flow_slug from pgflow.flows f order by lower(f.flow_slug collate "C") loop
    perform pgflow._lock_flow(v_flow.flow_slug);
    foreach v_queue in array pgflow._flow_queues(v_flow.flow_slug) loop
      if to_regclass(format('pgmq.%I', pgmq.format_table_name(v_queue, 'q'))) is null
        or to_regclass(format('pgmq.%I', pgmq.format_table_name(v_queue, 'a'))) is null
        or not exists (select from pgmq.list_queues() l where lower(l.queue_name collate "C") = v_queue) then
        perform pgflow._create_private_queue(v_queue);
        perform pgflow._advance_message_ids(v_queue);
        return next v_queue;
      end if;
    end loop;
  end loop;
end $$;
comment on function pgflow.restore_queues() is 'Makes the queues again that routes name and that are gone, after a restore or a drop by hand, with ids beyond those that tasks know; returns their names. Their messages come back with repair_liveness().';

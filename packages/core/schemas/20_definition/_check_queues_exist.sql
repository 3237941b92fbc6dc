-- A route whose queue is gone is said at startup; it is never re-created, since its messages are gone too.
create function pgflow._check_queues_exist(p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_missing record;
begin
  select s.step_slug, s.queue_name into v_missing
  from pgflow._routes s
  where s.flow_slug = p_flow_slug
    -- A restored database lists its queues and does not have them.
    and (not exists (select from pgmq.list_queues() l where lower(l.queue_name collate "C") = s.queue_name)
         or to_regclass(format('pgmq.%I', pgmq.format_table_name(s.queue_name, 'q'))) is null)
  order by s.step_index limit 1;
  if v_missing.step_slug is not null then
    perform pgflow._raise('SF111', format('Queue "%s" of step "%s" in flow "%s" does not exist.', v_missing.queue_name, v_missing.step_slug, p_flow_slug),
      'It was dropped outside Starflow or left out of a dump, and its messages with it. The tasks that they stood for are there.',
      'Make the queues again that are gone, then send the messages of their open tasks again: npx starflow repair, or in SQL: select pgflow.restore_queues(); select pgflow.repair_liveness();');
  end if;
end $$;

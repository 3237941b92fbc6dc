-- What delete_flow_and_data would delete. Takes the flow's lock, so that within one transaction what was counted is not
-- compiled anew before it is deleted.
create function pgflow.flow_data_summary(flow_slug text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow pgflow.flows;
  v_queues text[];
  v_queue text;
  v_counts record;
  v_queue_counts jsonb := '[]';
begin
  perform pgflow._lock_flow(flow_data_summary.flow_slug);
  select * into v_flow from pgflow.flows f where f.flow_slug = flow_data_summary.flow_slug;
  if v_flow.flow_slug is null then
    perform pgflow._raise_unknown_flow(flow_data_summary.flow_slug);
  end if;

  v_queues := pgflow._flow_queues(v_flow.flow_slug);
  foreach v_queue in array v_queues loop
    begin
      execute format('select (select count(*) from pgmq.%I) as messages, (select count(*) from pgmq.%I) as archived',
                     pgmq.format_table_name(v_queue, 'q'), pgmq.format_table_name(v_queue, 'a')) into v_counts;
      v_queue_counts := v_queue_counts || jsonb_build_object(
        'queueName', v_queue, 'messages', v_counts.messages, 'archived', v_counts.archived);
    exception when undefined_table then
      v_queue_counts := v_queue_counts || jsonb_build_object('queueName', v_queue, 'messages', null, 'archived', null);
    end;
  end loop;

  return jsonb_build_object(
    'flowSlug', v_flow.flow_slug,
    'queueMode', v_flow.queue_mode,
    'runs', (select coalesce(jsonb_object_agg(r.status, r.runs), '{}') from (
               select x.status, count(*) as runs from pgflow.runs x where x.flow_slug = v_flow.flow_slug group by x.status) r),
    'tasks', (select count(*) from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id where r.flow_slug = v_flow.flow_slug),
    'queues', v_queue_counts,
    'liveWorkers', (select coalesce(jsonb_agg(jsonb_build_object(
                             'workerId', w.worker_id, 'functionName', w.function_name, 'queueName', w.queue_name)
                             order by w.function_name, w.worker_id), '[]')
                    from pgflow.workers w where lower(w.queue_name collate "C") = any (v_queues) and pgflow._heartbeat_is_fresh(w)));
end $$;
comment on function pgflow.flow_data_summary(text) is
  'What delete_flow_and_data would delete: {flowSlug, queueMode, runs: {status: count}, tasks, queues: [{queueName, messages, archived}] (null: the queue is gone), liveWorkers: [{workerId, functionName, queueName}]}.';

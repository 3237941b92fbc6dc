-- Takes the flow's locks, which keep starts and claims away, and then its runs, which settlements hold while they work on
-- its queues: only then is nobody left who could wait for one queue and hold another. Queues go by their persisted routes
-- (an empty plain flow has only its default queue); a queue that pgmq cannot drop rolls everything back. Messages are not
-- archived first: their archive goes with them.
create function pgflow.delete_flow_and_data(p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue text;
begin
  perform pgflow._lock_flow(p_flow_slug);
  perform pg_advisory_xact_lock(pgflow._deletion_lock(p_flow_slug));
  perform from pgflow.runs r where r.flow_slug = p_flow_slug order by r.run_id for update;
  foreach v_queue in array pgflow._flow_queues(p_flow_slug) loop
    perform pgflow._drop_private_queue(v_queue);
  end loop;
  delete from pgflow.parked_tasks p using pgflow.runs r where r.run_id = p.run_id and r.flow_slug = p_flow_slug;
  delete from pgflow.step_tasks t using pgflow.runs r where r.run_id = t.run_id and r.flow_slug = p_flow_slug;
  delete from pgflow.step_states s using pgflow.runs r where r.run_id = s.run_id and r.flow_slug = p_flow_slug;
  delete from pgflow.runs r where r.flow_slug = p_flow_slug;
  delete from pgflow.deps d where d.flow_slug = p_flow_slug;
  delete from pgflow.steps s where s.flow_slug = p_flow_slug;
  delete from pgflow.flows f where f.flow_slug = p_flow_slug;
end $$;
comment on function pgflow.delete_flow_and_data(text) is 'Deletes a flow, its runs, queues and archives, in one transaction. There is no way back.';

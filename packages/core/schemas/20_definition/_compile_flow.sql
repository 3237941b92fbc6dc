-- Creates a flow that does not exist, whole or not at all. Every check comes before the first change.
create function pgflow._compile_flow(p_flow_slug text, p_shape jsonb, p_queue_mode text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slugs text[] := pgflow._routed_slugs(p_flow_slug, p_shape);
  v_queue text;
  v_queues text[];
  v_step record;
begin
  perform pgflow._check_flow_slug_is_free(p_flow_slug);
  if p_queue_mode = 'step' and cardinality(array_remove(v_slugs, null)) = 0 then
    perform pgflow._raise('SF103',
      format('Flow "%s" has no steps%s, so it cannot use per-step queues.', p_flow_slug, case when cardinality(v_slugs) > 0 then ' but waits' else '' end),
      'A step-queued flow has one queue per step; this one would have none.', 'Add its steps before withStepQueues(flow).');
  end if;
  v_queues := case when p_queue_mode = 'flow' then array[lower(p_flow_slug collate "C")]
                   else array(select r.queue_name from pgflow._derive_routes(p_flow_slug, v_slugs, p_queue_mode) r order by r.step_index) end;
  foreach v_queue in array v_queues loop
    perform pgflow._check_queue_is_free(v_queue, p_flow_slug);
  end loop;

  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout, opt_max_delay, queue_mode, input_schema, compiled_at)
  values (p_flow_slug, coalesce((p_shape #>> '{options,maxAttempts}')::integer, 3), coalesce((p_shape #>> '{options,baseDelay}')::integer, 5),
          coalesce((p_shape #>> '{options,timeout}')::integer, 60), (p_shape #>> '{options,maxDelay}')::integer, p_queue_mode,
          p_shape -> 'inputSchema', pgflow.clock());
  foreach v_queue in array v_queues loop
    perform pgflow._create_private_queue(v_queue);
  end loop;
  for v_step in
    select s.*, coalesce(r.queue_name, lower(p_flow_slug collate "C")) as queue_name from pgflow._shape_steps(p_flow_slug, p_shape) s
    left join pgflow._derive_routes(p_flow_slug, v_slugs, p_queue_mode) r on r.step_slug = s.step_slug
    order by s.step_index
  loop
    perform pgflow._insert_step(
      p_flow_slug, v_step.step_slug, v_step.step_index, v_step.queue_name, v_step.deps_slugs, v_step.step_type,
      (v_step.options ->> 'maxAttempts')::integer, (v_step.options ->> 'baseDelay')::integer,
      (v_step.options ->> 'maxDelay')::integer, (v_step.options ->> 'timeout')::integer,
      (v_step.options ->> 'startDelay')::integer, v_step.required_input_pattern, v_step.forbidden_input_pattern,
      v_step.when_unmet, v_step.when_exhausted);
  end loop;
end $$;

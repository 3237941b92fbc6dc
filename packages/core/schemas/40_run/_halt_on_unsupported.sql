-- The strict policy. If any message of the batch is not this subscription's: gives all of them back at once, disables
-- the worker's function (of a grouped one, this queue) with the reason, so that nothing restarts it, and answers true. No
-- task is touched. Under a fence the memory changes too: lifting the fence does not lift the halt.
create function pgflow._halt_on_unsupported(p_queue_name text, p_flow_slug text, p_step_slug text, p_worker_id uuid, p_ids bigint[])
returns boolean
language plpgsql
as $$
declare
  v_supported integer;
  v_reason text;
  v_function_name text := (select w.function_name from pgflow.workers w where w.worker_id = p_worker_id);
begin
  select count(*) into v_supported from pgflow.step_tasks t
  where t.queue_name = p_queue_name and t.message_id = any (p_ids) and t.message_id is not null
    -- for Postgres 15 and 16: see _claim_messages
    and t.message_id between (select min(i.id) from unnest(p_ids) i(id)) and (select max(i.id) from unnest(p_ids) i(id))
    and t.flow_slug = p_flow_slug and (p_step_slug is null or t.step_slug = p_step_slug);
  if v_supported = cardinality(p_ids) then
    return false;
  end if;
  perform pgflow.set_vt_batch(p_queue_name, p_ids, array_fill(0, array[cardinality(p_ids)]));
  v_reason := format('%s of %s messages read from queue "%s" are not supported (onUnsupportedMessage: halt)',
                     cardinality(p_ids) - v_supported, cardinality(p_ids), p_queue_name);
  if (select count(*) > 1 from pgflow.worker_function_queues q where q.function_name = v_function_name) then
    update pgflow.worker_function_queues q set enabled = false, disabled_reason = v_reason
    where q.function_name = v_function_name and q.queue_name = p_queue_name;
  else
    update pgflow.worker_functions f set
      enabled = false, updated_at = pgflow.clock(), disabled_reason = v_reason,
      enabled_before_fence = case when f.fenced_at is not null then false end
    where f.function_name = v_function_name;
  end if;
  return true;
end $$;

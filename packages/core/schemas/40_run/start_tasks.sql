-- For callers that read messages themselves; our own workers use claim_tasks. Messages that cannot be claimed are left
-- as they are: they come back when the caller's read is over. Nothing is claimed behind a fence or for a worker that was told to
-- stop, so that neither has to be known to the caller; one without a row is refused by the foreign key. Locks task rows with skip locked.
create function pgflow.start_tasks(
  flow_slug text, msg_ids bigint[], worker_id uuid, queue_name text default null, step_slug text default null)
returns setof pgflow.step_task_record
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_queue text := coalesce(start_tasks.queue_name, lower(start_tasks.flow_slug collate "C"));
  v_known bigint[];
begin
  if msg_ids is null or cardinality(msg_ids) = 0 then
    return;
  end if;
  if exists (select from pgflow.flows f where f.flow_slug = start_tasks.flow_slug and f.queue_mode = 'step')
     and (start_tasks.queue_name is null or start_tasks.step_slug is null) then
    perform pgflow._refuse_subscription(v_queue, start_tasks.flow_slug, start_tasks.step_slug);
  end if;
  if exists (select from pgflow.flows f where f.flow_slug = start_tasks.flow_slug and f.paused_at is not null)
     or exists (select from pgflow._worker_state(start_tasks.worker_id) w where w.state in ('deprecated', 'fenced')) then
    return;
  end if;
  -- Only messages with a queued task of this subscription: a released worker may hold others, which are its own affair.
  v_known := array(
    select t.message_id from pgflow.step_tasks t
    where t.queue_name = v_queue and t.message_id = any (msg_ids) and t.message_id is not null and t.status = 'queued'
      -- for Postgres 15 and 16: see _claim_messages
      and t.message_id between (select min(i.id) from unnest(msg_ids) i(id)) and (select max(i.id) from unnest(msg_ids) i(id))
      and t.flow_slug = start_tasks.flow_slug and (start_tasks.step_slug is null or t.step_slug = start_tasks.step_slug));
  if cardinality(v_known) = 0 then
    return;
  end if;
  return query
    select c.flow_slug, c.run_id, c.step_slug, c.input, c.msg_id, c.task_index, c.flow_input
    from unnest(pgflow._claim_messages(v_queue, start_tasks.flow_slug, start_tasks.step_slug, start_tasks.worker_id, v_known, null, false, true)) c
    where c.kind = 'claimed';
end $$;
comment on function pgflow.start_tasks(text, bigint[], uuid, text, text) is
  'Claims the queued tasks behind messages that the caller has read; none of a paused flow, and none for a worker that is deprecated, stopped or fenced. Without queue and step: the default queue of a plain flow.';

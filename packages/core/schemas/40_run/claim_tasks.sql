-- Called by workers. Locks: see _claim. The plan settings are inherited by everything inside: with plain plan caching
-- each call replans (1.0 K instead of 1.7 K steps/s at batch 1), and a sequential scan planned on an empty table stays.
create function pgflow.claim_tasks(
  queue_name text, flow_slug text, worker_id uuid, qty integer, step_slug text default null, on_unsupported text default 'skip')
returns setof pgflow.claimed_task
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
begin
  return query
    select c.flow_slug, c.run_id, c.step_slug, c.task_index, c.msg_id, c.attempt, c.input, c.flow_input
    from unnest(pgflow._claim(claim_tasks.queue_name, claim_tasks.flow_slug, claim_tasks.step_slug, claim_tasks.worker_id, qty, on_unsupported)) c
    where c.kind = 'claimed';
end $$;
comment on function pgflow.claim_tasks(text, text, uuid, integer, text, text) is
  'Reads up to qty messages of one queue and claims their tasks for a running worker. attempt is the fencing token that reports must carry.';

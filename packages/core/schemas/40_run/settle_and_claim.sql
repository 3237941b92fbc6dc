-- The hot call of a worker: one round trip. Settles first and claims last: a claim never waits, so the run locks that
-- the settlement takes cannot be part of a cycle. It waits for a run no longer than 250 ms (55P03): a run that somebody holds must not
-- keep the reports of others, and the claim, from their end. The worker then sets that run's reports aside.
create function pgflow.settle_and_claim(
  worker_id uuid, reports jsonb, queue_name text, flow_slug text, qty integer, step_slug text default null,
  on_unsupported text default 'skip', alone boolean default null)
returns setof pgflow.work_item
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off set lock_timeout = '250ms'
as $$
declare
  -- Arrays, not sets: a call of a function that returns a set is a plan to start and a tuplestore to fill, each level again.
  v_refused pgflow._refused_report[];
  v_work pgflow.work_item[];
begin
  if settle_and_claim.worker_id is null or jsonb_typeof(reports) is distinct from 'array' then
    perform pgflow._check_reports(settle_and_claim.worker_id, reports);
  end if;
  v_refused := pgflow._settle(settle_and_claim.worker_id, reports);
  if v_refused is not null then
    return query
      select 'refused', null::text, r.run_id, r.step_slug, r.task_index, null::bigint, null::integer, null::jsonb, null::jsonb, null::integer, r.reason
      from unnest(v_refused) r;
  end if;
  v_work := pgflow._claim(settle_and_claim.queue_name, settle_and_claim.flow_slug, settle_and_claim.step_slug,
                          settle_and_claim.worker_id, qty, on_unsupported, alone);
  if v_work is not null then
    return query select w.* from unnest(v_work) w;
  end if;
end $$;
comment on function pgflow.settle_and_claim(uuid, jsonb, text, text, integer, text, text, boolean) is
  'settle_tasks and claim_tasks in one round trip. Rows by kind: claimed; refused (a report that was not accepted, with its reason); unsupported and halted (messages of others); stalled; suspect; worker (reason: why nothing was claimed). A suspect was put back since its worker had vanished, and may have been the cause: alone => false leaves them and tells of them; true, for a worker that holds nothing, claims one and nothing else; null, the default, makes no difference.';

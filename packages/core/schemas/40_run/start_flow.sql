-- Definer, so that a trigger of a signed-in person's may start a run; it is then theirs.
create function pgflow.start_flow(
  flow_slug text, input jsonb, run_id uuid default null, idempotency_key text default null, start_at timestamptz default null)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_run_id uuid := coalesce(start_flow.run_id, pgflow.new_run_id());
  v_started uuid;
begin
  if start_flow.idempotency_key is not null then
    perform pgflow._check_idempotency_key(start_flow.flow_slug, start_flow.idempotency_key);
  end if;
  if start_at = 'infinity' then
    perform pgflow._raise('SF203', format('A run of flow "%s" cannot start at infinity.', start_flow.flow_slug),
      'It would be open for ever.', 'Give a moment, or leave start_at out.');
  end if;
  select s into v_started from pgflow._start_runs(
    start_flow.flow_slug, array[v_run_id], array[start_flow.input], start_flow.idempotency_key, start_at) s;
  if v_started is null then
    -- The same key of the same owner again: the run that it started, whatever run id was asked for now.
    v_run_id := coalesce((select r.run_id from pgflow.runs r
                          where r.flow_slug = start_flow.flow_slug and r.idempotency_key = start_flow.idempotency_key
                            and r.owner is not distinct from pgflow._run_owner()), v_run_id);
    perform pgflow._check_run_ids(start_flow.flow_slug, array[v_run_id]);
  end if;
  return query select r.* from pgflow.runs r where r.run_id = v_run_id;
end $$;
comment on function pgflow.start_flow(text, jsonb, uuid, text, timestamptz) is
  'Starts a run and returns it; none of its work is claimable before start_at. The same run_id or idempotency_key of the same caller again gives the existing run of the same flow.';

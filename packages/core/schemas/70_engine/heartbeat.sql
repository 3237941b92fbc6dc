-- Locks the runner's row, then its runs in the order of their ids.
create function starflow.heartbeat(
  runner_id text, ttl_ms bigint, capacity integer, definition_ids uuid[] default '{}', claims jsonb default '[]', runner_pool text default null,
  is_accepting boolean default true, refused_flows jsonb default '{}', workspace_id text default null)
returns table (run_id uuid, claim_attempts integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  insert into starflow.workflow_runners as w (runner_id, runner_pool, capacity, definition_ids, live_until, is_accepting, refused_flows,
    workspace_id, last_heartbeat, started_at)
  values (heartbeat.runner_id, heartbeat.runner_pool, heartbeat.capacity, heartbeat.definition_ids,
          pgflow.clock() + starflow._milliseconds(ttl_ms), heartbeat.is_accepting, heartbeat.refused_flows, heartbeat.workspace_id,
          pgflow.clock(), pgflow.clock())
  on conflict on constraint workflow_runners_pkey do update set
    runner_pool = excluded.runner_pool, capacity = excluded.capacity, definition_ids = excluded.definition_ids,
    live_until = excluded.live_until, is_accepting = excluded.is_accepting, refused_flows = excluded.refused_flows,
    workspace_id = excluded.workspace_id, last_heartbeat = excluded.last_heartbeat;
  return query
    with given as (
      select c.run_id, c.claim_attempts from jsonb_to_recordset(heartbeat.claims) c (run_id uuid, claim_attempts integer)
    ), held as (
      select r.id from given g join starflow.workflow_runs r on r.id = g.run_id
      where r.leased_by = heartbeat.runner_id and r.claim_attempts = g.claim_attempts
      order by r.id
      for no key update of r
    ), refreshed as (
      update starflow.workflow_runs r set lease_until = pgflow.clock() + starflow._milliseconds(ttl_ms), last_heartbeat = pgflow.clock()
      from held h where r.id = h.id
      returning r.id
    )
    select g.run_id, g.claim_attempts from given g where not exists (select from refreshed f where f.id = g.run_id);
end $$;
comment on function starflow.heartbeat(text, bigint, integer, uuid[], jsonb, text, boolean, jsonb, text) is
  'A runner''s sign of life and all its leases in one call. claims: [{ run_id, claim_attempts }]; returned are those that it does not hold any longer. is_accepting false: it serves no further run. refused_flows: { slug: why }.';

-- Triggers, so that no write can be forgotten, and every one is in the outbox exactly if it commits. A heartbeat changes nothing
-- that anybody watches, and fires none.
create function starflow._mirror_run()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if starflow._is_mirrored() then
    insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
    values (new.id, 'run', starflow._mirrored_run(new), pgflow.clock());
  end if;
  return null;
end $$;
create trigger mirror_run after insert or update of status, claim_state, paused_nodes, checkpoint_json, phase, available_at, leased_by
  on starflow.workflow_runs for each row execute function starflow._mirror_run();

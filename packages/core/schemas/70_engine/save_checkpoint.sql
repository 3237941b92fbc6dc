create function starflow.save_checkpoint(
  run_id uuid, checkpoint jsonb, runner_id text default null, claim_attempts integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform starflow._lock_open_run(save_checkpoint.run_id, save_checkpoint.runner_id, save_checkpoint.claim_attempts);
  update starflow.workflow_runs r set checkpoint_json = checkpoint where r.id = save_checkpoint.run_id;
end $$;
comment on function starflow.save_checkpoint(uuid, jsonb, text, integer) is
  'Keeps what is needed of a run while it is paused.';

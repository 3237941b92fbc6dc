create function starflow.remove_runner(runner_id text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from starflow.workflow_runners w where w.runner_id = remove_runner.runner_id;
end $$;
comment on function starflow.remove_runner(text) is 'The runner is gone. What it may still hold is found by the sweep.';

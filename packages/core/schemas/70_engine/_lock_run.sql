-- Everything else of a run (waits, variables, events) is written after its row was locked, so that the ids of its events become
-- visible in their order. Who waited here sees what the former holder committed: the next statement takes a new snapshot.
create function starflow._lock_run(p_run_id uuid)
returns starflow.workflow_runs
language plpgsql
as $$
declare
  v_run starflow.workflow_runs;
begin
  select * into v_run from starflow.workflow_runs r where r.id = p_run_id for no key update;
  if v_run.id is null then
    perform pgflow._raise('SF802', format('Run %s does not exist.', p_run_id), 'This database keeps no run of that id.',
      'Check the id, and that this is the database of the run.');
  end if;
  return v_run;
end $$;

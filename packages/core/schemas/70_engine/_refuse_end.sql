create function starflow._refuse_end(p_run starflow.workflow_runs)
returns void
language plpgsql
as $$
begin
  if starflow._has_ended(p_run.status) then
    perform pgflow._raise('SF801', format('Run %s has ended.', p_run.id), format('Its status is %s. Ends are final.', p_run.status),
      'Stop executing the run. A failed or cancelled one can be retried.');
  end if;
end $$;

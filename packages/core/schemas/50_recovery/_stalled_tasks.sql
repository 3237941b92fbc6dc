-- The started tasks of these runs' started steps that are past their recovery boundary: started_at + effective timeout + 30 s. The
-- claim hides a message for timeout + 2 s, so a worker that reports in time is never overtaken.
create function pgflow._stalled_tasks(p_run_ids uuid[])
returns setof pgflow.step_tasks
language plpgsql stable
as $$
begin
  return query
    select t.* from unnest(p_run_ids) u(run_id)
    join pgflow.step_tasks t on t.run_id = u.run_id
    join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
    join pgflow.flows f on f.flow_slug = t.flow_slug
    where t.status = 'started'
      and (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) = 'started'
      -- A start without a time, which no claim makes, is as old as can be.
      and coalesce(t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock(), true);
end $$;

-- What a task that ended as failed means for its step: when_exhausted decides between failing the run and skipping the
-- step, whose unfinished tasks then end as skipped. Archives the messages of the failed tasks.
create function pgflow._exhaust_steps(
  p_failed pgflow._ended_task[], out skipped_steps pgflow._state[], out failed_steps pgflow._failed_step[])
language plpgsql
as $$
begin
  perform pgflow._archive_messages(p_failed);

  with verdicts as (
    select distinct on (t.run_id, t.step_slug) t.run_id, t.step_slug, t.error_message, st.when_exhausted = 'fail' as fails_run
    from unnest(p_failed) t
    join pgflow.steps st on st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
    order by t.run_id, t.step_slug, t.task_index
  ), skipped as (
    update pgflow.step_states s set
      status = 'skipped', skip_reason = 'handler_failed', skipped_at = greatest(pgflow.clock(), s.created_at, s.started_at),
      remaining_tasks = null, error_message = v.error_message
    from verdicts v
    where not v.fails_run and s.run_id = v.run_id and s.step_slug = v.step_slug and s.status = 'started'
    returning row(s.*)::pgflow._state as state
  )
  select (select array_agg(s.state) from skipped s),
         (select array_agg(row(v.run_id, v.step_slug, v.error_message)::pgflow._failed_step) from verdicts v where v.fails_run)
  into skipped_steps, failed_steps;

  if skipped_steps is not null then
    perform pgflow._end_unfinished_tasks(
      array(select s.run_id from unnest(skipped_steps) with ordinality s(flow_slug, run_id) order by s.ordinality),
      array(select s.step_slug from unnest(skipped_steps) with ordinality s(flow_slug, run_id, step_slug) order by s.ordinality),
      'skipped');
  end if;
end $$;

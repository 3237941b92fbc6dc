-- What a graph and a timeline of one run need, in one call. Outputs that are larger than max_bytes are left out, and of a step with many
-- tasks the attempts of the first max_tasks are told: queue_run_tasks has the others.
create function starflow.queue_run_steps(run_id uuid, max_bytes integer, max_tasks integer default 20)
returns table (
  step_slug text, step_type text, depends_on text[], queue_name text, status text, is_waiting boolean, total_tasks integer, queued_tasks integer,
  started_tasks integer, completed_tasks integer, failed_tasks integer, attempts integer, max_attempts integer, timeout_seconds integer,
  ready_at timestamptz, due_at timestamptz, started_at timestamptz, ended_at timestamptz, skip_reason text, error_name text, error_message text,
  error_stack text, output jsonb, output_bytes integer, spans jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  return query
    select s.step_slug, st.step_type,
           array(select d.dep_slug from pgflow.deps d where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug order by d.dep_slug),
           case when st.step_type <> 'wait' then st.queue_name end,
           s.status, coalesce(t.waiting > 0, false), s.initial_tasks, coalesce(t.queued, 0), coalesce(t.started, 0), coalesce(t.completed, 0),
           coalesce(t.failed, 0), coalesce(t.attempts, 0),
           case when st.step_type <> 'wait' then coalesce(st.opt_max_attempts, f.opt_max_attempts) end,
           case when st.step_type = 'wait' then st.opt_timeout else coalesce(st.opt_timeout, f.opt_timeout) end,
           s.started_at,
           case when t.queued > 0 and r.status = 'started' then starflow._next_due_at(s.run_id, s.step_slug) else w.due_at end,
           least(t.first_started_at, a.first_started_at),
           coalesce(s.completed_at, s.failed_at, s.skipped_at), s.skip_reason,
           e.error_name, coalesce(s.error_message, e.error_message, t.error), left(e.error_stack, 16384),
           case when starflow._json_size(s.output) <= max_bytes then s.output end, starflow._json_size(s.output),
           (select jsonb_agg(jsonb_build_object('task', x.task_index, 'attempt', x.attempt, 'outcome', x.outcome, 'worker', x.worker_id,
                     'startedAt', starflow._iso(x.started_at), 'endedAt', starflow._iso(x.ended_at)))
            from starflow._attempts_of_tasks(s.run_id, s.step_slug, 0, max_tasks - 1) x where x.started_at is not null)
    from pgflow.runs r
    join pgflow.flows f on f.flow_slug = r.flow_slug
    join pgflow.step_states s on s.run_id = r.run_id
    join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
    left join pgflow.waits w on w.run_id = s.run_id and w.step_slug = s.step_slug and w.opened_at is not null
    left join lateral (
      select count(*) filter (where x.status = 'queued')::integer as queued, count(*) filter (where x.status = 'started')::integer as started,
             count(*) filter (where x.status = 'completed')::integer as completed, count(*) filter (where x.status = 'failed')::integer as failed,
             count(*) filter (where x.status = 'waiting')::integer as waiting, max(x.attempts_count) as attempts,
             min(x.started_at) as first_started_at, max(x.error_message) filter (where x.status in ('failed', 'queued', 'started')) as error
      from pgflow.step_tasks x where x.run_id = s.run_id and x.step_slug = s.step_slug) t on true
    left join lateral (
      select min(x.started_at) as first_started_at from pgflow.task_attempts x where x.run_id = s.run_id and x.step_slug = s.step_slug) a on true
    -- Why it failed, or the last attempt of what is still tried did.
    left join lateral (
      select x.error_name, x.error_message, x.error_stack from pgflow.task_attempts x
      where x.run_id = s.run_id and x.step_slug = s.step_slug and s.status in ('started', 'failed') and x.error_message is not null
      order by x.ended_at desc, x.task_index limit 1) e on true
    where r.run_id = queue_run_steps.run_id
    order by st.step_index;
end $$;
comment on function starflow.queue_run_steps(uuid, integer, integer) is
  'The steps of a run in queue placement, in the order of the flow, with what a graph and a timeline of it need. An output larger than max_bytes is left out (output_bytes tells its size); spans has the attempts of the first max_tasks tasks of each step.';

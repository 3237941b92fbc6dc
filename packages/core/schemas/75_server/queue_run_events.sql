-- Read off the tables: a step that ran again shows its last times, and earlier attempts show as they are in task_attempts.
-- Types, node ids and payloads are those of workflow_run_events, so that whoever shows a run need not care where it ran.
create function starflow.queue_run_events(
  run_id uuid, since timestamptz default null, after_type text default null, after_node text default null,
  after_attempt integer default null, max_rows integer default null)
returns setof starflow.queue_run_event
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with run as (
    select * from pgflow.runs r where r.run_id = queue_run_events.run_id
  ), task as (
    select t.*, t.step_slug || case st.step_type when 'map' then format('[%s]', t.task_index) else '' end as node_id, st.step_type
    from pgflow.step_tasks t
    join pgflow.steps st on st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
    where t.run_id = queue_run_events.run_id
  ), event (happened_at, event_type, node_id, attempt, payload) as (
    select r.started_at, 'run_started', null, 0, null::jsonb from run r
    union all
    select t.started_at, 'node_start', t.node_id, t.attempts_count, jsonb_build_object('attempt', t.attempts_count)
    from task t where t.step_type <> 'wait' and t.started_at is not null
    union all
    -- A wait is never claimed: it begins where it opens.
    select t.queued_at, 'node_start', t.node_id, 1, jsonb_build_object('attempt', 1) from task t where t.step_type = 'wait'
    union all
    select a.ended_at, case when t.status = 'failed' and a.attempt = t.attempts_count then 'node_error' else 'node_retry' end, t.node_id, a.attempt,
           jsonb_build_object('attempt', a.attempt, 'reason', a.reason,
             'error', jsonb_strip_nulls(jsonb_build_object('name', a.error_name, 'message', a.error_message)))
    from pgflow.task_attempts a
    join task t on t.run_id = a.run_id and t.step_slug = a.step_slug and t.task_index = a.task_index
    union all
    select t.completed_at, 'node_complete', t.node_id, t.attempts_count, jsonb_build_object('output', t.output)
    from task t where t.step_type = 'map' and t.status = 'completed'
    union all
    select s.completed_at, 'node_complete', s.step_slug, 0, jsonb_build_object('output', s.output)
    from pgflow.step_states s where s.run_id = queue_run_events.run_id and s.status = 'completed'
    union all
    select s.failed_at, 'node_error', s.step_slug, 0, jsonb_build_object('error', jsonb_build_object('message', s.error_message))
    from pgflow.step_states s where s.run_id = queue_run_events.run_id and s.status = 'failed'
      and not exists (select from task t where t.step_slug = s.step_slug and t.status = 'failed' and t.step_type <> 'map')
    union all
    select s.skipped_at, 'node_skip', s.step_slug, 0, jsonb_build_object('reason', s.skip_reason)
    from pgflow.step_states s where s.run_id = queue_run_events.run_id and s.status = 'skipped'
    union all
    select coalesce(r.completed_at, r.failed_at, r.cancelled_at),
           case r.status when 'completed' then 'run_completed' when 'failed' then 'run_failed' else 'run_cancelled' end, null, 0,
           case when r.cancel_reason is not null then jsonb_build_object('reason', r.cancel_reason) end
    from run r where r.status <> 'started'
  )
  select row(e.happened_at, e.event_type, e.node_id, e.attempt, e.payload)::starflow.queue_run_event
  from event e
  where since is null or e.happened_at > since
     -- Only at that very instant does the rest of the order matter: one start of a map gives all its elements the same.
     or (e.happened_at = since and (after_type is null
       or (starflow._queue_event_rank(e.event_type), coalesce(e.node_id, ''), e.attempt)
          > (starflow._queue_event_rank(after_type), coalesce(after_node, ''), coalesce(after_attempt, 0))))
  order by e.happened_at, starflow._queue_event_rank(e.event_type), coalesce(e.node_id, ''), e.attempt
  limit max_rows
$$;
comment on function starflow.queue_run_events(uuid, timestamptz, text, text, integer, integer) is
  'What happened to a run in queue placement, in order, as far as its tables tell; with since, what happened then or later, and with the rest of an event (after_type, after_node, after_attempt) only what comes after it; at most max_rows.';

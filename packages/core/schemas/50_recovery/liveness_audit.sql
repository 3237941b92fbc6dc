-- The promise "no open run without a next actor", as a question: empty when all is well. A next actor is a message in
-- its queue, a live claim within its recovery boundary, a due time, or an open wait.
create view pgflow.liveness_audit as
  select 'task' as kind, t.flow_slug, t.run_id, t.step_slug, t.task_index,
         case when t.status = 'queued' then 'queued, but its message is not in queue ' || t.queue_name
              else 'started and past its recovery boundary, but its message is not in queue ' || t.queue_name end as reason
  from pgflow._tasks_without_message() t
  join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
  join pgflow.flows f on f.flow_slug = t.flow_slug
  where t.status = 'queued'
     or t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock()
  union all
  select 'task', t.flow_slug, t.run_id, t.step_slug, t.task_index, 'waiting, but it is not among the open waits'
  from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id
  where r.status = 'started' and t.status = 'waiting' and not exists (
    select from pgflow.waits w where w.run_id = t.run_id and w.step_slug = t.step_slug and w.opened_at is not null)
  union all
  select 'step', s.flow_slug, s.run_id, s.step_slug, null,
         case when s.status = 'started' then 'started, but it has no open task' else 'its dependencies have ended, but it did not start' end
  from pgflow.runs r join pgflow.step_states s on s.run_id = r.run_id
  where r.status = 'started' and (
    (s.status = 'started' and not exists (
      select from pgflow.step_tasks t
      where t.run_id = s.run_id and t.step_slug = s.step_slug and t.status in ('queued', 'started', 'waiting')))
    or (s.status = 'created' and not exists (
      select from pgflow.deps d join pgflow.step_states p on p.run_id = s.run_id and p.step_slug = d.dep_slug
      where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug and p.status not in ('completed', 'skipped'))))
  union all
  select 'run', r.flow_slug, r.run_id, null, null, 'started, but all of its steps have ended'
  from pgflow.runs r
  where r.status = 'started' and not exists (
    select from pgflow.step_states s where s.run_id = r.run_id and s.status in ('created', 'started'));
comment on view pgflow.liveness_audit is 'Every open run, step or task that has no next actor, with the reason. Empty when all is well; repair_liveness() puts right what it can.';

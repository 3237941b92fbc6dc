-- The promise "no open run without a next actor", as a question: empty when all is well. A next actor is a message in
-- its queue, a live claim within its recovery boundary, a due time, or an open wait. And whoever acts must find what it needs: the
-- definition of each open step, and counters that reach zero when what they count has ended.
create view pgflow.liveness_audit as
  select 'task' as kind, t.flow_slug, t.run_id, t.step_slug, t.task_index,
         case when s.step_slug is null then t.status || ', but the definition of its step is gone'
              when t.queue_name <> s.queue_name then format('%s in queue %s, but its step is served from queue %s', t.status, t.queue_name, s.queue_name)
              when t.status = 'queued' then 'queued, but its message is not in queue ' || t.queue_name
              else 'started and past its recovery boundary, but its message is not in queue ' || t.queue_name end as reason
  from pgflow._unreachable_tasks() t
  left join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
  left join pgflow.flows f on f.flow_slug = t.flow_slug
  where t.status = 'queued' or s.step_slug is null
     or coalesce(t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock(), true)
  union all
  select 'task', t.flow_slug, t.run_id, t.step_slug, t.task_index, 'waiting, but it is not among the open waits'
  from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id
  where r.status = 'started' and t.status = 'waiting' and not exists (
    select from pgflow.waits w where w.run_id = t.run_id and w.step_slug = t.step_slug and w.opened_at is not null)
  union all
  select 'step', x.flow_slug, x.run_id, x.step_slug, null, v.reason
  from pgflow.runs r
  join pgflow.step_states x on x.run_id = r.run_id
  left join pgflow.steps s on s.flow_slug = x.flow_slug and s.step_slug = x.step_slug
  cross join lateral (select case
    when x.status = 'failed' then 'failed, but its run goes on'
    when s.step_slug is null then x.status || ', but its definition is gone'
    when x.status = 'started' then (
      select case when count(*) = 0 then 'started, but it has no open task'
                  when count(*) <> coalesce(x.remaining_tasks, 0) then format('started, with %s tasks to come by its counter, but %s are open', coalesce(x.remaining_tasks, 0), count(*)) end
      from pgflow.step_tasks t where t.run_id = x.run_id and t.step_slug = x.step_slug and t.status in ('queued', 'started', 'waiting'))
    when s.step_type <> 'wait' and to_regclass('pgmq.q_' || s.queue_name) is null then 'to be started, but its queue ' || s.queue_name || ' is gone'
    else (
      select case when count(*) = 0 then 'its dependencies have ended, but it did not start'
                  when count(*) <> x.remaining_deps then format('waits for %s dependencies by its counter, but %s are open', x.remaining_deps, count(*)) end
      from pgflow.deps d join pgflow.step_states p on p.run_id = x.run_id and p.step_slug = d.dep_slug
      where d.flow_slug = x.flow_slug and d.step_slug = x.step_slug and p.status not in ('completed', 'skipped'))
    end as reason) v
  where r.status = 'started' and x.status in ('created', 'started', 'failed') and v.reason is not null
  union all
  select 'run', r.flow_slug, r.run_id, null, null,
         case when n.open_steps = 0 then 'started, but all of its steps have ended'
              else format('started, with %s steps to go by its counter, but %s have not ended', r.remaining_steps, n.open_steps) end
  from pgflow.runs r
  cross join lateral (
    select count(*) as open_steps from pgflow.step_states x where x.run_id = r.run_id and x.status not in ('completed', 'skipped')
  ) n
  where r.status = 'started' and (n.open_steps = 0 or n.open_steps <> r.remaining_steps);
comment on view pgflow.liveness_audit is 'Every open run, step or task that has no next actor, or would not be found by it, with the reason. Empty when all is well; repair_liveness() puts right what it can.';

-- What the rules see now. Cheap enough for every ten seconds: what failed, stalled or was lost lately is in indexes of its own.
create function starflow._observed_problems(p_rules jsonb)
returns setof starflow.observed_problem
language plpgsql stable
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_rule jsonb;
  v_since timestamptz;
begin
  v_rule := p_rules -> 'failedRuns';
  if v_rule is not null then
    v_since := v_now - starflow._milliseconds((v_rule ->> 'withinMs')::bigint);
    return query
      select 'failedRuns', f.flow_slug,
             jsonb_build_object('runs', count(*), 'runIds', (array_agg(f.run_id order by f.failed_at desc))[1:5])
      from (
        select r.flow_slug, r.run_id, r.failed_at from pgflow.runs r where r.status = 'failed' and r.failed_at > v_since
        union all
        select r.template_id, r.id, r.completed_at from starflow.workflow_runs r where r.status = 'error' and r.completed_at > v_since
      ) f
      where v_rule -> 'flows' is null or v_rule -> 'flows' ? f.flow_slug
      group by f.flow_slug
      having count(*) >= (v_rule ->> 'atLeast')::bigint;
  end if;

  if p_rules -> 'uncoveredQueues' is not null then
    return query
      select 'uncoveredQueues', c.queue_name,
             jsonb_build_object(
               'messages', max(c.depth), 'oldestSeconds', max(floor(extract(epoch from c.oldest_age))),
               'reason', case when max(c.depth) is null then 'queue_gone' when bool_and(c.fenced) then 'fenced' else 'no_live_worker' end,
               'steps', array_agg(c.flow_slug || '.' || c.step_slug order by c.flow_slug, c.step_index))
      from pgflow.queue_coverage c
      where c.depth is null or (c.depth > 0 and (c.live_workers = 0 or c.fenced))
      group by c.queue_name;
  end if;

  v_rule := p_rules -> 'stalls';
  if v_rule is not null then
    v_since := v_now - starflow._milliseconds((v_rule ->> 'withinMs')::bigint);
    return query
      select 'stalls', s.flow_slug,
             jsonb_build_object('stalledTasks', count(*) filter (where s.is_task), 'lostRunners', count(*) filter (where not s.is_task),
                                'runIds', (array_agg(s.run_id order by s.happened_at desc))[1:5])
      from (
        select r.flow_slug, r.run_id, a.ended_at as happened_at, true as is_task
        from pgflow.task_attempts a join pgflow.runs r on r.run_id = a.run_id
        where a.reason = 'stalled' and a.ended_at > v_since
        union all
        select r.template_id, r.id, e.created_at, false
        from starflow.workflow_run_events e join starflow.workflow_runs r on r.id = e.run_id
        where e.event_type = 'runner_lost' and e.created_at > v_since
      ) s
      group by s.flow_slug
      having count(*) >= (v_rule ->> 'atLeast')::bigint;
  end if;

  v_rule := p_rules -> 'outboxLag';
  if v_rule is not null and starflow._is_mirrored() then
    return query
      select 'outboxLag', 'warm tier', jsonb_build_object('changes', l.overdue, 'oldestSeconds', l.oldest_ms / 1000)
      from starflow.outbox_lag(page_ms => (v_rule ->> 'pageMs')::bigint) l
      where l.overdue > 0;
  end if;

  if p_rules -> 'unservedRuns' is not null then
    return query
      select 'unservedRuns', coalesce(u.runner_pool, 'no pool'),
             jsonb_build_object('runs', count(*), 'reason', min(u.reason), 'runIds', (array_agg(u.run_id order by u.queued_at))[1:5])
      from starflow.list_unserved_runs(max_rows => 1000) u
      group by u.runner_pool;
  end if;
end $$;

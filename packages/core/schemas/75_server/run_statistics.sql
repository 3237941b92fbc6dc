-- Bounded, along indexes: what is open is counted up to 10 000, the last hour up to 100 000 starts (since tells how far back that reaches).
-- Of a workspace, open runs in queue placement are counted among the newest 20 000 of all.
create function starflow.run_statistics(workspace_id text default null)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_from timestamptz := date_trunc('minute', v_now) - interval '59 minutes';
  v_starts timestamptz[];
  v_open jsonb;
  v_minutes jsonb;
begin
  if workspace_id is null then
    v_starts := array(select r.started_at from pgflow.runs r where r.started_at >= v_from order by r.started_at desc limit 50000)
             || array(select r.created_at from starflow.workflow_runs r where r.created_at >= v_from order by r.created_at desc limit 50000);
  else
    v_starts := array(select q.started_at from starflow.queue_runs q
                      where q.workspace_id = run_statistics.workspace_id and q.started_at >= v_from order by q.started_at desc limit 50000)
             || array(select r.created_at from starflow.workflow_runs r
                      where r.workspace_id = run_statistics.workspace_id and r.created_at >= v_from order by r.created_at desc limit 50000);
  end if;
  if cardinality(v_starts) >= 50000 then
    v_from := greatest(v_from, date_trunc('minute', (select min(s) from unnest(v_starts) s)) + interval '1 minute');
  end if;

  with minute as (
    select m.at from generate_series(v_from, date_trunc('minute', v_now), interval '1 minute') m(at)
  ), started as (
    select date_trunc('minute', s) as at, count(*) as runs from unnest(v_starts) s group by 1
  ), failed as (
    select date_trunc('minute', f.at) as at, count(*) as runs
    from (
      select r.failed_at as at from pgflow.runs r left join starflow.queue_runs q on q.run_id = r.run_id
      where r.failed_at >= v_from and (run_statistics.workspace_id is null or q.workspace_id = run_statistics.workspace_id)
      union all
      select r.completed_at from starflow.workflow_runs r
      where r.status = 'error' and r.completed_at >= v_from and (run_statistics.workspace_id is null or r.workspace_id = run_statistics.workspace_id)
      limit 100000) f
    group by 1
  )
  select jsonb_agg(jsonb_build_object('at', starflow._iso(m.at), 'started', coalesce(s.runs, 0), 'failed', coalesce(f.runs, 0)) order by m.at)
  into v_minutes
  from minute m left join started s on s.at = m.at left join failed f on f.at = m.at;

  select jsonb_object_agg(o.status, o.runs) into v_open
  from (
    select s.status, sum(s.runs) as runs
    from (
      select 'running' as status, count(*) as runs
      from (select from pgflow.runs r where r.status = 'started' and run_statistics.workspace_id is null limit 10000) x
      union all
      select 'running', count(*)
      from (select r.run_id from pgflow.runs r where r.status = 'started' and run_statistics.workspace_id is not null
            order by r.started_at desc limit 20000) x
      join starflow.queue_runs q on q.run_id = x.run_id and q.workspace_id = run_statistics.workspace_id
      union all
      select x.status, count(*)
      from (select r.status from starflow.workflow_runs r
            where r.status in ('queued', 'running', 'paused')
              and (run_statistics.workspace_id is null or r.workspace_id = run_statistics.workspace_id) limit 10000) x
      group by x.status) s
    group by s.status) o;

  return jsonb_build_object(
    'asOf', starflow._iso(v_now),
    'open', jsonb_build_object('queued', 0, 'running', 0, 'paused', 0) || coalesce(v_open, '{}'),
    'minutes', v_minutes,
    'openWaits', (
      select count(*)
      from (select from pgflow.waits w left join starflow.queue_runs q on q.run_id = w.run_id
            where w.opened_at is not null and (run_statistics.workspace_id is null or q.workspace_id = run_statistics.workspace_id)
            union all
            select from starflow.workflow_waits w
            where w.status = 'open' and (run_statistics.workspace_id is null or exists (
              select from starflow.workflow_runs r where r.id = w.run_id and r.workspace_id = run_statistics.workspace_id))
            limit 10000) x));
end $$;
comment on function starflow.run_statistics(text) is
  'Of both placements, for a workspace or all: open runs by status, and per minute of the last hour how many were started and have failed, as JSON. Minutes before since were not counted.';

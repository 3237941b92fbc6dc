-- Of runs and what they wait for, in both placements. What is open is counted up to 10 000, along indexes that hold only that.
create function starflow._run_metrics()
returns setof starflow.metric_sample
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
declare
  v_now timestamptz := pgflow.clock();
begin
  return query
    select 'starflow_runs_open', jsonb_build_object('placement', 'queue', 'status', 'running'), count(*)::double precision
    from (select from pgflow.runs r where r.status = 'started' limit 10000) x;
  return query
    select 'starflow_runs_open', jsonb_build_object('placement', 'runner', 'status', s.status), s.runs::double precision
    from (values
      ('queued', (select count(*) from (select from starflow.workflow_runs r where r.claim_state = 'queued' and r.status = 'queued' limit 10000) x)),
      ('running', (select count(*) from (select from starflow.workflow_runs r where r.lease_until is not null and r.status = 'running' limit 10000) x)),
      ('paused', (select count(distinct x.run_id) from (select w.run_id from starflow.workflow_waits w where w.status = 'open' limit 10000) x))
    ) s (status, runs);
  return query
    select 'starflow_open_waits', jsonb_build_object('placement', w.placement), w.waits::double precision
    from (values
      ('queue', (select count(*) from (select from pgflow.waits w where w.opened_at is not null limit 10000) x)),
      ('runner', (select count(*) from (select from starflow.workflow_waits w where w.status = 'open' limit 10000) x))
    ) w (placement, waits);

  return query
    select x.metric, jsonb_build_object('pool', p.pool), x.value
    from (
      select coalesce(q.runner_pool, '') as pool, count(*) as depth, extract(epoch from v_now - min(greatest(q.queued_at, q.available_at))) as oldest_age
      from (select r.runner_pool, r.queued_at, r.available_at from starflow.workflow_runs r
            where r.claim_state = 'queued' and r.available_at <= v_now limit 10000) q
      group by 1
    ) p
    cross join lateral (values
      ('starflow_runner_queue_depth', p.depth::double precision), ('starflow_runner_queue_oldest_age_seconds', greatest(p.oldest_age, 0))) x (metric, value);
  return query
    select 'starflow_runner_queue_unserved', jsonb_build_object('pool', coalesce(u.runner_pool, '')), count(*)::double precision
    from starflow.list_unserved_runs(max_rows => 1000) u group by u.runner_pool;
  return query
    select 'starflow_live_runners', jsonb_build_object('pool', coalesce(w.runner_pool, '')), count(*)::double precision
    from starflow.workflow_runners w where w.live_until > v_now group by w.runner_pool;
  return query
    select x.metric, '{}'::jsonb, x.value
    from (select count(*)::double precision as held, count(*) filter (where r.lease_until < v_now)::double precision as overdue
          from starflow.workflow_runs r where r.lease_until is not null) l
    cross join lateral (values ('starflow_leases_held', l.held), ('starflow_leases_overdue', l.overdue)) x (metric, value);

  return query
    select 'starflow_worker_jobs', jsonb_build_object('kind', j.kind, 'status', j.status), count(*)::double precision
    from (select q.kind, 'queued' as status from starflow.worker_jobs q where q.status = 'queued'
          union all select l.kind, 'leased' from starflow.worker_jobs l where l.lease_until is not null) j
    group by j.kind, j.status;
  return query
    select 'starflow_worker_jobs_oldest_age_seconds', jsonb_build_object('kind', j.kind),
           greatest(extract(epoch from v_now - min(j.created_at)), 0)::double precision
    from starflow.worker_jobs j where j.status = 'queued' group by j.kind;
end $$;

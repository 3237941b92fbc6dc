create view pgflow.version_drain as
  select f.flow_slug, f.queue_mode, f.compiled_at,
         (select count(*) from pgflow.runs r where r.flow_slug = f.flow_slug and r.status = 'started') as open_runs,
         (select min(r.started_at) from pgflow.runs r where r.flow_slug = f.flow_slug and r.status = 'started') as oldest_open_run_at,
         (select count(*) from pgflow.workers w
          where lower(w.queue_name collate "C") in (select s.queue_name from pgflow._routes s where s.flow_slug = f.flow_slug)
            and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)) as live_workers,
         (select count(*) from pgflow.open_waits w where w.flow_slug = f.flow_slug) as open_waits
  from pgflow.flows f;
comment on view pgflow.version_drain is 'What is left of each concrete flow: open runs, the workers that serve them, and the waits that only a resume or their timeout ends.';

-- Once a second, while there is something new; the hot call knows nothing of it. A figure never becomes smaller: reports of one
-- worker may overtake each other.
create function pgflow.report_usage(worker_id uuid, tasks_count integer, cpu_ms bigint default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.workers w set
    tasks_count = greatest(w.tasks_count, report_usage.tasks_count), cpu_ms = greatest(w.cpu_ms, report_usage.cpu_ms)
  where w.worker_id = report_usage.worker_id;
end $$;
comment on function pgflow.report_usage(uuid, integer, bigint) is
  'A worker tells how many tasks it has ended since it registered, and, where it can measure that, the CPU of its process since the start.';

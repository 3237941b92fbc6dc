-- Which function serves which queue: those that have registered, and those that a deployment has made known under the
-- name of a queue (or of one of its instances, <queue>-2) and that have not come up yet.
create view pgflow._queue_functions as
  select q.queue_name, q.function_name, q.enabled and f.enabled as enabled,
         coalesce('fenced by ' || f.fenced_by, f.disabled_reason, q.disabled_reason, case when not f.enabled then 'disabled' end) as fence
  from pgflow.worker_function_queues q
  join pgflow.worker_functions f on f.function_name = q.function_name
  union all
  select regexp_replace(f.function_name, '-[0-9]+$', ''), f.function_name, f.enabled,
         coalesce('fenced by ' || f.fenced_by, f.disabled_reason, case when not f.enabled then 'disabled' end)
  from pgflow.worker_functions f
  where not exists (select from pgflow.worker_function_queues q where q.function_name = f.function_name);

-- A worker asks once a second about what it has run for longer than that: a task may have ended without it, with its run or its step, or
-- be another worker's by now. Looks up primary keys and locks nothing; the hot call knows nothing of it.
create function pgflow.lost_attempts(worker_id uuid, tasks jsonb)
returns table (run_id uuid, step_slug text, task_index integer, attempt integer, reason text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select u.run_id, u.step_slug, u.task_index, u.attempt,
         case when t.run_id is null then 'its run was deleted'
              when t.status in ('cancelled', 'skipped') then case r.status
                when 'cancelled' then 'its run was cancelled' when 'failed' then 'its run failed' else 'its step was skipped' end
              else 'the task is not its own any more' end
  from jsonb_to_recordset(tasks) u(run_id uuid, step_slug text, task_index integer, attempt integer)
  left join pgflow.step_tasks t on t.run_id = u.run_id and t.step_slug = u.step_slug and t.task_index = u.task_index
  left join pgflow.runs r on r.run_id = t.run_id
  where (t.status = 'started' and t.attempts_count = u.attempt and t.last_worker_id = lost_attempts.worker_id) is not true
$$;
comment on function pgflow.lost_attempts(uuid, jsonb) is
  'Of the attempts that a worker has under way, [{run_id, step_slug, task_index, attempt}], those that count no more, and why: their run was cancelled, failed or deleted, their step was skipped, or another worker has the task.';

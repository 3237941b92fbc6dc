-- By run id, which grows with time, so that a page is the primary key (or the index of a workspace) read backwards from where
-- the last one ended, however many runs there are. Planned for the filters at hand.
create function starflow.list_queue_runs(
  workspace_id text default null, env text default null, flow_slug text default null, status text default null, before_id uuid default null,
  max_rows integer default 50)
returns setof starflow.queue_run
language plpgsql stable
set search_path = '' set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select r.run_id, r.flow_slug, q.workspace_id, q.env, r.status, r.started_at, coalesce(r.completed_at, r.failed_at, r.cancelled_at),
           case when r.status = 'failed' then (
             select s.error_message from pgflow.step_states s where s.run_id = r.run_id and s.status = 'failed' order by s.failed_at limit 1) end
    from pgflow.runs r
    left join starflow.queue_runs q on q.run_id = r.run_id
    where (list_queue_runs.workspace_id is null or q.workspace_id = list_queue_runs.workspace_id) and (list_queue_runs.env is null or q.env = list_queue_runs.env)
      and (list_queue_runs.flow_slug is null or r.flow_slug = list_queue_runs.flow_slug) and (list_queue_runs.status is null or r.status = list_queue_runs.status)
      and (list_queue_runs.before_id is null or r.run_id < list_queue_runs.before_id)
      -- Once more for the index of a workspace, which then gives the order.
      and (list_queue_runs.workspace_id is null or list_queue_runs.before_id is null or q.run_id < list_queue_runs.before_id)
    order by case when list_queue_runs.workspace_id is null then r.run_id else q.run_id end desc
    limit list_queue_runs.max_rows;
end $$;
comment on function starflow.list_queue_runs(text, text, text, text, uuid, integer) is
  'Runs in queue placement with whose they are, the newest first; what is null is not filtered by. For the next page give the last run id.';

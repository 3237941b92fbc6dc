create function pgflow.poll_for_tasks(
  queue_name text, vt integer, qty integer, max_poll_seconds integer default 5, poll_interval_ms integer default 100)
returns setof pgflow.step_task_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise notice 'poll_for_tasks is deprecated and returns nothing: use claim_tasks';
end $$;
comment on function pgflow.poll_for_tasks(text, integer, integer, integer, integer) is 'Deprecated: returns nothing. Use claim_tasks.';

-- See README.md in 00_upgrade: the rows of a released database come back, and what is left of it goes.
do $$
declare
  v_statement text;
  v_role record;
  v_name text;
  v_detail text;
begin
  if to_regnamespace('pgflow_released') is null then
    return;
  end if;

  insert into pgflow.flows (flow_slug, opt_max_attempts, opt_base_delay, opt_timeout, created_at, compiled_at)
  select f.flow_slug, f.opt_max_attempts, f.opt_base_delay, f.opt_timeout, f.created_at, f.created_at from pgflow_released.flows f;
  insert into pgflow.steps (flow_slug, step_slug, step_type, step_index, deps_count, opt_max_attempts, opt_base_delay, opt_timeout, created_at,
    opt_start_delay, required_input_pattern, forbidden_input_pattern, when_unmet, when_exhausted, queue_name, feeds_map)
  select s.flow_slug, s.step_slug, s.step_type, s.step_index, s.deps_count, s.opt_max_attempts, s.opt_base_delay, s.opt_timeout, s.created_at,
         s.opt_start_delay, s.required_input_pattern, s.forbidden_input_pattern, s.when_unmet, s.when_exhausted, lower(s.flow_slug collate "C"),
         exists (select from pgflow_released.deps d
                 join pgflow_released.steps m on m.flow_slug = d.flow_slug and m.step_slug = d.step_slug and m.step_type = 'map'
                 where d.flow_slug = s.flow_slug and d.dep_slug = s.step_slug)
  from pgflow_released.steps s;
  insert into pgflow.deps (flow_slug, dep_slug, step_slug, created_at)
  select d.flow_slug, d.dep_slug, d.step_slug, d.created_at from pgflow_released.deps d;
  insert into pgflow.workers (worker_id, queue_name, function_name, started_at, deprecated_at, last_heartbeat_at, stopped_at)
  select w.worker_id, w.queue_name, w.function_name, w.started_at, w.deprecated_at, w.last_heartbeat_at, w.stopped_at from pgflow_released.workers w;
  insert into pgflow.worker_functions (function_name, enabled, debounce, last_invoked_at, created_at, updated_at)
  select w.function_name, w.enabled, w.debounce, w.last_invoked_at, w.created_at, w.updated_at from pgflow_released.worker_functions w;
  insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at, failed_at)
  select r.run_id, r.flow_slug, r.status, r.input, r.output, r.remaining_steps, r.started_at, r.completed_at, r.failed_at from pgflow_released.runs r;
  insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_tasks, remaining_deps, created_at, started_at, completed_at,
    failed_at, error_message, initial_tasks, output, skip_reason, skipped_at)
  select s.flow_slug, s.run_id, s.step_slug, s.status, s.remaining_tasks, s.remaining_deps, s.created_at, s.started_at, s.completed_at,
         s.failed_at, s.error_message, s.initial_tasks, s.output, s.skip_reason, s.skipped_at
  from pgflow_released.step_states s;
  insert into pgflow.step_tasks (flow_slug, run_id, step_slug, message_id, task_index, status, attempts_count, error_message, output, queued_at,
    completed_at, failed_at, started_at, last_worker_id, requeued_count, last_requeued_at, permanently_stalled_at, queue_name, input)
  select t.flow_slug, t.run_id, t.step_slug, t.message_id, t.task_index,
         -- The released line leaves tasks open where their run has failed, or their step was skipped.
         case when t.status not in ('queued', 'started') then t.status
              when r.status <> 'started' then 'cancelled' when s.status = 'skipped' then 'skipped' else t.status end,
         t.attempts_count, t.error_message, t.output, t.queued_at,
         t.completed_at, t.failed_at, t.started_at, t.last_worker_id, t.requeued_count, t.last_requeued_at, t.permanently_stalled_at,
         lower(t.flow_slug collate "C"), m.elements -> t.task_index
  from pgflow_released.step_tasks t
  join pgflow_released.runs r on r.run_id = t.run_id
  join pgflow_released.step_states s on s.run_id = t.run_id and s.step_slug = t.step_slug
  -- Once for each map that goes on, however many elements are left of it.
  left join (
    select u.run_id, u.step_slug, pgflow._map_source(u.flow_slug, u.run_id, u.step_slug) as elements
    from (select distinct o.flow_slug, o.run_id, o.step_slug from pgflow_released.step_tasks o
          join pgflow_released.steps s on s.flow_slug = o.flow_slug and s.step_slug = o.step_slug and s.step_type = 'map'
          where o.status in ('queued', 'started')) u
  ) m on m.run_id = t.run_id and m.step_slug = t.step_slug and t.status in ('queued', 'started');

  -- Clients of the released line listen to public channels, to runs that they never asked for, and see a run whose id they know.
  perform pgflow.set_setting('events_channel', 'public');
  perform pgflow.set_setting('events', 'all');
  perform pgflow.set_setting('unowned_runs', 'visible');

  for v_role in select * from pgflow_released._roles loop
    execute format('grant usage on schema pgflow to %I', v_role.role_name);
    if v_role.is_server then
      execute format('grant select, insert, update, delete on all tables in schema pgflow to %I', v_role.role_name);
      execute format('grant usage, select on all sequences in schema pgflow to %I', v_role.role_name);
      execute format('grant execute on all functions in schema pgflow to %I', v_role.role_name);
    end if;
    foreach v_name in array v_role.reads loop
      execute format('grant select on pgflow.%I to %I', v_name, v_role.role_name);
      execute format('create policy %I on pgflow.%I for select to %I using (true)', left('released_reads_of_' || v_role.role_name, 63), v_name, v_role.role_name);
    end loop;
    foreach v_name in array v_role.reads_by_policy loop
      execute format('grant select on pgflow.%I to %I', v_name, v_role.role_name);
      -- Our own policies, which stand beside those of the project, call it.
      execute format('grant execute on function pgflow._caller_id() to %I', v_role.role_name);
    end loop;
    for v_statement in
      select format('grant execute on function %s to %I', p.oid::regprocedure, v_role.role_name)
      from pg_proc p where p.pronamespace = 'pgflow'::regnamespace and p.proname = any (v_role.calls)
    loop
      execute v_statement;
    end loop;
  end loop;
  for v_statement in select k.statement from pgflow_released._kept k loop
    execute v_statement;
  end loop;

  begin
    -- Functions that speak of a table's rows must go before it, one that a check of a table calls after it: so twice around.
    for v_statement in select format('drop routine %s', p.oid::regprocedure) from pg_proc p where p.pronamespace = 'pgflow_released'::regnamespace loop
      begin
        execute v_statement;
      exception when dependent_objects_still_exist then null;
      end;
    end loop;
    drop table pgflow_released.flows, pgflow_released.steps, pgflow_released.deps, pgflow_released.runs, pgflow_released.step_states,
      pgflow_released.step_tasks, pgflow_released.workers, pgflow_released.worker_functions, pgflow_released._kept, pgflow_released._roles;
    for v_statement in select format('drop routine %s', p.oid::regprocedure) from pg_proc p where p.pronamespace = 'pgflow_released'::regnamespace loop
      execute v_statement;
    end loop;
    drop type if exists pgflow_released.step_task_record;
    drop schema pgflow_released;
  exception when dependent_objects_still_exist then
    get stacked diagnostics v_detail = pg_exception_detail;
    raise exception using errcode = 'SF120', message = 'The database cannot be upgraded as it is.',
      detail = replace(v_detail, 'pgflow_released.', 'pgflow.'),
      hint = 'Nothing was changed. Drop what depends on these objects, apply the migration again, and make it again.';
  end;
end $$;

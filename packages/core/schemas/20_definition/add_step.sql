-- Takes the flow's lock, so that two callers never compute the same index. Idempotent like create_flow.
create function pgflow.add_step(
  flow_slug text, step_slug text, deps_slugs text[] default '{}', max_attempts integer default null,
  base_delay integer default null, timeout integer default null, start_delay integer default null,
  step_type text default 'single', required_input_pattern jsonb default null, forbidden_input_pattern jsonb default null,
  when_unmet text default 'skip', when_exhausted text default 'fail', max_delay integer default null)
returns pgflow.steps
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step pgflow.steps;
  v_mode text;
  v_existing text;
begin
  perform pgflow._lock_flow(add_step.flow_slug);
  select * into v_step from pgflow.steps s where s.flow_slug = add_step.flow_slug and s.step_slug = add_step.step_slug;
  if v_step.step_slug is not null then
    return v_step;
  end if;
  select f.queue_mode into v_mode from pgflow.flows f where f.flow_slug = add_step.flow_slug;
  if v_mode = 'step' then
    perform pgflow._raise('SF116', format('Flow "%s" has one queue per step: its steps are compiled together.', add_step.flow_slug),
      'A queue may be named by the index of its step, so a step that is added later could not be told from a renamed one.', 'Use ensure_flow_compiled with the complete shape, under a new concrete slug.');
  end if;
  select s.step_slug into v_existing from pgflow.steps s
  where s.flow_slug = add_step.flow_slug and lower(s.step_slug collate "C") = lower(add_step.step_slug collate "C");
  if v_existing is not null then
    perform pgflow._raise_duplicate_step(add_step.flow_slug, add_step.step_slug, v_existing);
  end if;
  perform pgflow._insert_step(
    add_step.flow_slug, add_step.step_slug,
    (select coalesce(max(s.step_index) + 1, 0) from pgflow.steps s where s.flow_slug = add_step.flow_slug),
    lower(add_step.flow_slug collate "C"), coalesce(deps_slugs, '{}'), add_step.step_type, max_attempts, base_delay, max_delay, timeout,
    start_delay, add_step.required_input_pattern, add_step.forbidden_input_pattern, add_step.when_unmet, add_step.when_exhausted);
  select * into v_step from pgflow.steps s where s.flow_slug = add_step.flow_slug and s.step_slug = add_step.step_slug;
  return v_step;
end $$;
comment on function pgflow.add_step(text, text, text[], integer, integer, integer, integer, text, jsonb, jsonb, text, text, integer) is
  'Adds a step at the end of a plain flow: single, map or wait. Delays and timeouts are seconds.';

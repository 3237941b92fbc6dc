-- Brings the stored options of a flow (p_step_slug null: its own and all steps') or of one step to what the code says,
-- and tells each change. A step worker leaves the flow's own options alone, since other steps live by them: where the code
-- has another one than the database, its step gets that value as its own. Waits have no worker of their own, so any worker
-- brings their options; a flow's option never becomes that of a wait, whose timeout means something else. A value that comes back within an hour means that two versions of the code are running.
create function pgflow._apply_options(p_flow_slug text, p_shape jsonb, p_step_slug text)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_change record;
  v_previous record;
  v_told text[] := '{}';
begin
  for v_change in
    with flow_options as (
      select o.name, coalesce((p_shape #>> array['options', o.name])::integer, o.fallback) as in_code, o.stored
      from pgflow.flows f cross join lateral (values
        ('maxAttempts', 3, f.opt_max_attempts), ('baseDelay', 5, f.opt_base_delay), ('timeout', 60, f.opt_timeout),
        ('maxDelay', null, f.opt_max_delay)
      ) as o(name, fallback, stored) where f.flow_slug = p_flow_slug
    ), wanted as (
      select '' as step_slug, o.name as option_name, o.in_code as value from flow_options o where p_step_slug is null
      union all
      select s.step_slug, o.name, coalesce(
        (s.options ->> o.name)::integer,
        (select x.in_code from flow_options x where x.name = o.name and p_step_slug is not null and s.step_type <> 'wait'
         and x.in_code is distinct from x.stored))
      from pgflow._shape_steps(p_flow_slug, p_shape) s
      cross join (values ('maxAttempts'), ('baseDelay'), ('timeout'), ('maxDelay'), ('startDelay')) as o(name)
      where p_step_slug is null or s.step_slug = p_step_slug or s.step_type = 'wait'
    ), stored as (
      select '' as step_slug, o.name as option_name, o.value
      from pgflow.flows f cross join lateral (values
        ('maxAttempts', f.opt_max_attempts), ('baseDelay', f.opt_base_delay), ('timeout', f.opt_timeout), ('maxDelay', f.opt_max_delay)
      ) as o(name, value) where f.flow_slug = p_flow_slug
      union all
      select s.step_slug, o.name, o.value
      from pgflow.steps s cross join lateral (values
        ('maxAttempts', s.opt_max_attempts), ('baseDelay', s.opt_base_delay), ('timeout', s.opt_timeout),
        ('maxDelay', s.opt_max_delay), ('startDelay', s.opt_start_delay)
      ) as o(name, value) where s.flow_slug = p_flow_slug
    )
    select w.step_slug, w.option_name, s.value as old_value, w.value as new_value
    from wanted w join stored s using (step_slug, option_name)
    where w.value is distinct from s.value
    order by w.step_slug, w.option_name
  loop
    select c.old_value, c.changed_at into v_previous from pgflow.option_changes c
    where c.flow_slug = p_flow_slug and c.step_slug = v_change.step_slug and c.option_name = v_change.option_name;

    v_told := v_told || format('%s: %s changed from %s to %s%s',
      case v_change.step_slug when '' then 'flow' else 'step ' || v_change.step_slug end, v_change.option_name,
      coalesce(v_change.old_value::text, 'unset'), coalesce(v_change.new_value::text, 'unset'),
      case when v_previous.changed_at > pgflow.clock() - interval '1 hour' and v_previous.old_value is not distinct from v_change.new_value
           then ' (drift: it was changed the other way within the last hour, so two versions of this code are running)' else '' end);

    insert into pgflow.option_changes as c (flow_slug, step_slug, option_name, old_value, new_value, changed_at)
    values (p_flow_slug, v_change.step_slug, v_change.option_name, v_change.old_value, v_change.new_value, pgflow.clock())
    on conflict on constraint option_changes_pkey do update
    set old_value = excluded.old_value, new_value = excluded.new_value, changed_at = excluded.changed_at;

    if v_change.step_slug = '' then
      update pgflow.flows f set
        opt_max_attempts = case v_change.option_name when 'maxAttempts' then v_change.new_value else f.opt_max_attempts end,
        opt_base_delay = case v_change.option_name when 'baseDelay' then v_change.new_value else f.opt_base_delay end,
        opt_timeout = case v_change.option_name when 'timeout' then v_change.new_value else f.opt_timeout end,
        opt_max_delay = case v_change.option_name when 'maxDelay' then v_change.new_value else f.opt_max_delay end
      where f.flow_slug = p_flow_slug;
    else
      update pgflow.steps s set
        opt_max_attempts = case v_change.option_name when 'maxAttempts' then v_change.new_value else s.opt_max_attempts end,
        opt_base_delay = case v_change.option_name when 'baseDelay' then v_change.new_value else s.opt_base_delay end,
        opt_timeout = case v_change.option_name when 'timeout' then v_change.new_value else s.opt_timeout end,
        opt_max_delay = case v_change.option_name when 'maxDelay' then v_change.new_value else s.opt_max_delay end,
        opt_start_delay = case v_change.option_name when 'startDelay' then v_change.new_value else s.opt_start_delay end
      where s.flow_slug = p_flow_slug and s.step_slug = v_change.step_slug;
    end if;
  end loop;
  return v_told;
end $$;

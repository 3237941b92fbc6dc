-- Tells whoever watches what has just changed: run:started, steps in the order of their transitions, failures, ends. One
-- event per transition. Sending is protected as a whole: a realtime.send that raises or is missing costs the events,
-- never the run. Payloads over the broadcast limit leave their data out and say so; the client then reads it.
-- Joins with unnest and no "= any (array)": bulk starts come by the thousand, and the array would be searched for each row.
create function pgflow._send_events(
  p_new_run_ids uuid[], p_log pgflow._state[], p_failed pgflow._failed_step[], p_completed_run_ids uuid[])
returns void
language plpgsql
as $$
declare
  v_mode text;
  v_watched uuid[];
  v_event record;
begin
  -- One statement for what is nearly always so; the default of the setting is not all. (The parameter is looked at only where it is allowed.)
  if coalesce(substring(current_setting('pgflow.events', true) from '^(?:all|watched|off)$'), (select s.value from pgflow.settings s where s.key = 'events'), '') <> 'all'
    and not exists (select from pgflow.watched_runs) then
    return;
  end if;
  v_mode := pgflow._setting('events');
  if v_mode = 'off' then
    return;
  end if;
  if v_mode = 'watched' then
    select array_agg(u.run_id) into v_watched from (
      select n.run_id from unnest(p_new_run_ids) n(run_id)
      union select s.run_id from unnest(p_log) s
      union select f.run_id from unnest(p_failed) f
      union select c.run_id from unnest(p_completed_run_ids) c(run_id)
    ) u
    where exists (select from pgflow.watched_runs w where w.run_id = u.run_id and w.watched_until > pgflow.clock());
    if v_watched is null then
      return;
    end if;
  end if;

  begin
    for v_event in
      select e.run_id, e.event, e.payload from (
        select 1 as phase, 0::bigint as position, r.run_id, 'run:started' as event, jsonb_build_object(
                 'event_type', 'run:started', 'run_id', r.run_id, 'status', 'started', 'flow_slug', r.flow_slug, 'input', r.input,
                 'remaining_steps', (select count(*) from pgflow.steps s where s.flow_slug = r.flow_slug), 'started_at', r.started_at) as payload
        from unnest(p_new_run_ids) n(run_id) join pgflow.runs r on r.run_id = n.run_id
        where v_watched is null or r.run_id = any (v_watched)
        union all
        select 2, l.position, (l.state).run_id, format('step:%s:%s', (l.state).step_slug, (l.state).status), pgflow._step_event(l.state)
        from (select s as state, row_number() over () as position from unnest(p_log) s) l
        where v_watched is null or (l.state).run_id = any (v_watched)
        union all
        select 3, 0, s.run_id, format('step:%s:failed', s.step_slug), pgflow._step_event(row(s.*)::pgflow._state)
        from unnest(p_failed) f join pgflow.step_states s on s.run_id = f.run_id and s.step_slug = f.step_slug
        where s.status = 'failed' and (v_watched is null or s.run_id = any (v_watched))
        union all
        select 4, 0, r.run_id, 'run:failed', jsonb_build_object(
                 'event_type', 'run:failed', 'run_id', r.run_id, 'status', 'failed', 'flow_slug', r.flow_slug, 'failed_at', r.failed_at,
                 'error_message', f.error_message)
        from (select distinct on (u.run_id) u.run_id, u.error_message from unnest(p_failed) u) f
        join pgflow.runs r on r.run_id = f.run_id
        where r.status = 'failed' and (v_watched is null or r.run_id = any (v_watched))
        union all
        select 4, 0, r.run_id, 'run:completed', jsonb_build_object(
                 'event_type', 'run:completed', 'run_id', r.run_id, 'status', 'completed', 'flow_slug', r.flow_slug, 'output', r.output,
                 'completed_at', r.completed_at)
        from unnest(p_completed_run_ids) c(run_id) join pgflow.runs r on r.run_id = c.run_id
        where v_watched is null or r.run_id = any (v_watched)
      ) e
      order by e.phase, e.position
    loop
      perform pgflow._send_event(v_event.run_id, v_event.event, v_event.payload);
    end loop;
  exception when others then
    raise warning 'Events could not be sent: %', sqlerrm;
  end;
end $$;

-- Tells whoever watches what has just changed: run:started, steps in the order of their transitions, failures, ends. One
-- event per transition. Sending is protected as a whole: a realtime.send that raises or is missing costs the events,
-- never the run. Payloads over the broadcast limit leave their data out and say so; the client then reads it.
create function pgflow._send_events(
  p_new_run_ids uuid[], p_log pgflow.step_states[], p_failed pgflow._failed_step[], p_completed_run_ids uuid[])
returns void
language plpgsql
as $$
declare
  v_mode text := pgflow.get_setting('events');
  v_run_ids uuid[];
  v_event record;
begin
  if v_mode = 'off' or (v_mode = 'watched' and not exists (select from pgflow.watched_runs)) then
    return;
  end if;
  select array_agg(distinct u.run_id) into v_run_ids from (
    select n.run_id from unnest(p_new_run_ids) n(run_id)
    union all select s.run_id from unnest(p_log) s
    union all select f.run_id from unnest(p_failed) f
    union all select c.run_id from unnest(p_completed_run_ids) c(run_id)
  ) u
  where v_mode = 'all' or exists (select from pgflow.watched_runs w where w.run_id = u.run_id and w.watched_until > pgflow.clock());
  if v_run_ids is null then
    return;
  end if;

  begin
    for v_event in
      select e.run_id, e.event, e.payload from (
        select 1 as phase, 0::bigint as position, r.run_id, 'run:started' as event, jsonb_build_object(
                 'event_type', 'run:started', 'run_id', r.run_id, 'status', 'started', 'flow_slug', r.flow_slug, 'input', r.input,
                 'remaining_steps', (select count(*) from pgflow.steps s where s.flow_slug = r.flow_slug), 'started_at', r.started_at) as payload
        from pgflow.runs r where r.run_id = any (v_run_ids) and r.run_id = any (p_new_run_ids)
        union all
        select 2, s.ordinality, s.run_id, format('step:%s:%s', s.step_slug, s.status), pgflow._step_event(s.state)
        from (select row(l.*)::pgflow.step_states as state, l.run_id, l.step_slug, l.status, o.ordinality
              from generate_subscripts(p_log, 1) o(ordinality) cross join lateral (select (p_log[o.ordinality]).*) l) s
        where s.run_id = any (v_run_ids)
        union all
        select 3, 0, s.run_id, format('step:%s:failed', s.step_slug), pgflow._step_event(s)
        from pgflow.step_states s join unnest(p_failed) f on s.run_id = f.run_id and s.step_slug = f.step_slug
        where s.run_id = any (v_run_ids) and s.status = 'failed'
        union all
        select 4, 0, r.run_id, 'run:failed', jsonb_build_object(
                 'event_type', 'run:failed', 'run_id', r.run_id, 'status', 'failed', 'flow_slug', r.flow_slug, 'failed_at', r.failed_at,
                 'error_message', (select f.error_message from unnest(p_failed) f where f.run_id = r.run_id limit 1))
        from pgflow.runs r
        where r.run_id = any (v_run_ids) and r.run_id in (select f.run_id from unnest(p_failed) f) and r.status = 'failed'
        union all
        select 4, 0, r.run_id, 'run:completed', jsonb_build_object(
                 'event_type', 'run:completed', 'run_id', r.run_id, 'status', 'completed', 'flow_slug', r.flow_slug, 'output', r.output,
                 'completed_at', r.completed_at)
        from pgflow.runs r where r.run_id = any (v_run_ids) and r.run_id = any (p_completed_run_ids)
      ) e
      order by e.phase, e.position
    loop
      perform pgflow._send_event(v_event.run_id, v_event.event, v_event.payload);
    end loop;
  exception when others then
    raise warning 'Events of % run(s) could not be sent: %', cardinality(v_run_ids), sqlerrm;
  end;
end $$;

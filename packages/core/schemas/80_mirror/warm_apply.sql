-- Each change counts once, whoever brings it and how often: what the row knows already is left out. So a drainer that died between
-- this and mark_outbox_applied repeats nothing, not even a broadcast. By run, so that two callers lock rows in one order.
create function starflow.warm_apply(changes jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_change record;
  v_changed uuid[] := '{}';
begin
  for v_change in
    select (c ->> 'id')::bigint as id, (c ->> 'run_id')::uuid as run_id, c ->> 'kind' as kind, c -> 'payload' as payload,
           (c ->> 'created_at')::timestamptz as created_at
    from jsonb_array_elements(changes) c
    order by 2, 1
  loop
    if v_change.kind = 'run' then
      insert into starflow.warm_runs as w (run_id, workspace_id, is_open, run, outbox_id, changed_at)
      values (v_change.run_id, v_change.payload ->> 'workspace_id', not starflow._has_ended(v_change.payload ->> 'status'),
              v_change.payload, v_change.id, v_change.created_at)
      on conflict (run_id) do update
      set is_open = excluded.is_open, run = excluded.run, outbox_id = excluded.outbox_id, changed_at = excluded.changed_at,
          active_nodes = case when excluded.is_open then w.active_nodes else '{}' end
      where w.outbox_id < excluded.outbox_id;
    elsif v_change.kind = 'event' then
      update starflow.warm_runs w
      set active_nodes = case when w.is_open then starflow._apply_event(w.active_nodes, v_change.payload) else '{}' end,
          outbox_id = v_change.id, changed_at = v_change.created_at
      where w.run_id = v_change.run_id and w.outbox_id < v_change.id;
    else
      -- Session variables are read cold only.
      continue;
    end if;
    if found then v_changed := v_changed || v_change.run_id; end if;
    if v_change.kind = 'event' and v_change.payload ->> 'event_type' <> 'node_start' then
      -- What its next attempt has said meanwhile is younger, and stays.
      delete from starflow.warm_step_progress p
      where p.run_id = v_change.run_id and p.node_id = v_change.payload ->> 'node_id' and p.reported_at <= v_change.created_at;
    end if;
  end loop;
  perform starflow._broadcast_runs(v_changed);
  return cardinality(v_changed);
end $$;
comment on function starflow.warm_apply(jsonb) is
  'The warm tier learns rows of the outbox: [{ id, run_id, kind, payload, created_at }], and tells who listens. Returns how many were new to it.';

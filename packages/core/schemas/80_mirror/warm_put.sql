-- A snapshot of the cold tier takes the place of the row that was compared with it. If that has moved on, a drainer has been here, and the
-- next sweep compares again.
create function starflow.warm_put(snapshots jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_snapshot record;
  v_put uuid[] := '{}';
begin
  for v_snapshot in
    select (s ->> 'run_id')::uuid as run_id, s -> 'run' as run, s -> 'active_nodes' as active_nodes, (s ->> 'outbox_id')::bigint as outbox_id
    from jsonb_array_elements(snapshots) s
    order by 1
  loop
    if jsonb_typeof(v_snapshot.run) = 'null' then
      delete from starflow.warm_runs w where w.run_id = v_snapshot.run_id and w.outbox_id = v_snapshot.outbox_id;
    else
      insert into starflow.warm_runs as w (run_id, workspace_id, is_open, run, active_nodes, outbox_id, changed_at)
      values (v_snapshot.run_id, v_snapshot.run ->> 'workspace_id', not starflow._has_ended(v_snapshot.run ->> 'status'), v_snapshot.run,
              v_snapshot.active_nodes, coalesce(v_snapshot.outbox_id, 0), pgflow.clock())
      on conflict (run_id) do update
      set is_open = excluded.is_open, run = excluded.run, active_nodes = excluded.active_nodes, changed_at = excluded.changed_at
      where w.outbox_id = v_snapshot.outbox_id;
    end if;
    if found then v_put := v_put || v_snapshot.run_id; end if;
  end loop;
  perform starflow._broadcast_runs(v_put);
  return cardinality(v_put);
end $$;
comment on function starflow.warm_put(jsonb) is
  'Corrects the warm tier: [{ run_id, run, active_nodes, outbox_id }], with the outbox_id of the row that was compared, null for none; run null removes it. Returns how many it corrected.';

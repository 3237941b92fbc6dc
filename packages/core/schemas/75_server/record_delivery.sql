create function starflow.record_delivery(workspace_id text, trigger_name text, delivery_id text, start jsonb)
returns table (firing starflow.trigger_firings, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into starflow.trigger_firings as f (workspace_id, kind, trigger_name, occurrence, start, status, recorded_at)
  values (
    record_delivery.workspace_id, 'webhook', record_delivery.trigger_name, delivery_id, record_delivery.start, 'recorded', pgflow.clock())
  on conflict on constraint trigger_firings_pkey do update set
    start = excluded.start, status = 'recorded', recorded_at = excluded.recorded_at, settled_at = null, refused_code = null
  where f.status = 'refused';
  created := found;
  select f.* into firing from starflow.trigger_firings f
  where f.workspace_id = record_delivery.workspace_id and f.kind = 'webhook' and f.trigger_name = record_delivery.trigger_name
    and f.occurrence = delivery_id;
  return next;
end $$;
comment on function starflow.record_delivery(text, text, text, jsonb) is
  'Records a delivery of a webhook, or gives what the same one became. A refused one is recorded anew.';

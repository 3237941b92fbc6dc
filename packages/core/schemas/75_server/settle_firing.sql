create function starflow.settle_firing(
  workspace_id text, kind text, trigger_name text, occurrence text, run_id uuid default null, refused_code text default null)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  update starflow.trigger_firings f set
    status = case when settle_firing.run_id is null then 'refused' else 'started' end,
    run_id = settle_firing.run_id, refused_code = settle_firing.refused_code, settled_at = pgflow.clock()
  where f.workspace_id = settle_firing.workspace_id and f.kind = settle_firing.kind and f.trigger_name = settle_firing.trigger_name
    and f.occurrence = settle_firing.occurrence and f.status = 'recorded'
$$;
comment on function starflow.settle_firing(text, text, text, text, uuid, text) is
  'What became of a recorded firing: its run, or the code that it was refused with. Again: no effect.';

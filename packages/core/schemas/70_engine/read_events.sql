-- One JSON value, not rows: the REST layer of a project cuts row sets off at its max_rows without a word, and a resume that misses
-- events would repeat work.
create function starflow.read_events(run_id uuid, after_id bigint default 0, max_rows integer default null, node_id text default null)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
as $$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(e) || jsonb_build_object('id', e.id::text) order by e.id), '[]')
    from (select x.* from starflow.workflow_run_events x
          where x.run_id = read_events.run_id and x.id > coalesce(after_id, 0) and (read_events.node_id is null or x.node_id = read_events.node_id)
          order by x.run_id, x.id limit max_rows) e);
end $$;
comment on function starflow.read_events(uuid, bigint, integer, text) is
  'Events of a run in their order, behind after_id, of one node where one is named, as a JSON array. Ids are texts there: they may be larger than what JavaScript counts exactly.';

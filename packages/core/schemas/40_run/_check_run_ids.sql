-- A run id that was asked for may exist: then it must be a run of the same flow, and one that this caller started. What exists of others
-- is told to those who may see it; the rest gets the one text for all that is taken.
create function pgflow._check_run_ids(p_flow_slug text, p_run_ids uuid[])
returns void
language plpgsql
as $$
declare
  v_owner uuid := pgflow._run_owner();
  v_taken record;
begin
  select r.run_id, r.flow_slug, r.owner, pgflow._may_see(r.owner) as is_visible into v_taken from pgflow.runs r
  where r.run_id = any (p_run_ids) and (r.flow_slug <> p_flow_slug or r.owner is distinct from v_owner or not pgflow._may_see(r.owner)) limit 1;
  if v_taken.run_id is not null then
    perform pgflow._raise('SF202',
      case when not v_taken.is_visible then format('Run id %s cannot be used.', v_taken.run_id)
           when v_taken.flow_slug <> p_flow_slug then format('Run %s already exists and belongs to flow "%s".', v_taken.run_id, v_taken.flow_slug)
           else format('Run %s already exists and belongs to another caller.', v_taken.run_id) end,
      format('It was asked for flow "%s".', p_flow_slug), 'Use a new run id.');
  end if;
end $$;

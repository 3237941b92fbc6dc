-- A run id that was asked for may exist: then it must be a run of the same flow, and one the caller may see.
create function pgflow._check_run_ids(p_flow_slug text, p_run_ids uuid[])
returns void
language plpgsql
as $$
declare
  v_taken record;
begin
  select r.run_id, r.flow_slug, pgflow._may_see(r.owner) as is_visible into v_taken from pgflow.runs r
  where r.run_id = any (p_run_ids) and (r.flow_slug <> p_flow_slug or not pgflow._may_see(r.owner)) limit 1;
  if v_taken.run_id is not null then
    perform pgflow._raise('SF202',
      case when v_taken.is_visible then format('Run %s already exists and belongs to flow "%s".', v_taken.run_id, v_taken.flow_slug)
           else format('Run %s already exists.', v_taken.run_id) end,
      format('It was asked for flow "%s".', p_flow_slug), 'Use a new run id.');
  end if;
end $$;

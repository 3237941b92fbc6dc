-- What was taken or lifted meanwhile is no longer this hold's to lift.
create function pgflow.end_fence_hold(hold_id uuid)
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names text[];
begin
  perform from pgflow.worker_functions f
  where f.function_name in (select h.function_name from pgflow.fence_holds h where h.hold_id = end_fence_hold.hold_id)
  order by f.function_name for no key update;
  with ended as (delete from pgflow.fence_holds h where h.hold_id = end_fence_hold.hold_id returning h.function_name)
  select array_agg(e.function_name) into v_names from ended e;
  return query select f.* from pgflow._lift_fence(v_names) f;
end $$;
comment on function pgflow.end_fence_hold(uuid) is 'Lifts the fence that hold_fence raised: enabled is again what it was before. Returns the rows; none where it is not held any longer.';

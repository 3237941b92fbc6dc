-- Also after it was over, as long as nobody has taken or lifted the fence meanwhile.
create function pgflow.keep_fence_hold(hold_id uuid, hold_for interval)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kept integer;
begin
  perform from pgflow.fence_holds h where h.hold_id = keep_fence_hold.hold_id order by h.function_name for update;
  update pgflow.fence_holds h set held_until = pgflow.clock() + keep_fence_hold.hold_for where h.hold_id = keep_fence_hold.hold_id;
  get diagnostics v_kept = row_count;
  return v_kept;
end $$;
comment on function pgflow.keep_fence_hold(uuid, interval) is
  'Prolongs what hold_fence gave. Returns for how many functions: for those that are missing somebody else has taken or lifted the fence.';

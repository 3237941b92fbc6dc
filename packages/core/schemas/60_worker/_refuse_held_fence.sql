-- Locks the holds of these functions, so that none is prolonged after it was found to be over, and refuses where one of them
-- is another's and is not over. Their functions' rows are locked before, by the caller.
create function pgflow._refuse_held_fence(p_function_names text[], p_message text, p_hint text, p_own uuid default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held record;
begin
  perform from pgflow.fence_holds h where h.function_name = any (p_function_names) order by h.function_name for update;
  select string_agg(distinct h.held_by, '", "') as holders, string_agg(h.function_name, ', ' order by h.function_name) as names,
         ceil(extract(epoch from max(h.held_until) - pgflow.clock())) as seconds
  into v_held
  from pgflow.fence_holds h
  where h.function_name = any (p_function_names) and h.held_until > pgflow.clock() and h.hold_id is distinct from p_own;
  if v_held.names is not null then
    perform pgflow._raise('SF632', format(p_message, v_held.holders),
      format('It is at work on %s. Nothing was changed.', v_held.names), format(p_hint, v_held.seconds));
  end if;
end $$;

-- Definer functions check ownership themselves: the server may change all runs, a signed-in person only their own.
create function pgflow._may_change(p_owner uuid)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._caller_is_server() or coalesce(p_owner = pgflow._caller_id(), false);
end $$;

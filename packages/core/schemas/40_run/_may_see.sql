-- Who may change a run sees it. In a database that was upgraded so does whoever knows the id of a run without an owner, as before.
create function pgflow._may_see(p_owner uuid)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._may_change(p_owner) or (p_owner is null and pgflow._setting('unowned_runs') = 'visible');
end $$;

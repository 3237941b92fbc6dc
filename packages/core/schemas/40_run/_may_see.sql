-- Who may change a run sees it. In a database that was upgraded so does each caller who knows the id of a run that the server or a caller
-- without an id started, as before.
create function pgflow._may_see(p_owner uuid)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return pgflow._may_change(p_owner) or (coalesce(p_owner, '00000000-0000-0000-0000-000000000000') = '00000000-0000-0000-0000-000000000000' and pgflow._setting('unowned_runs') = 'visible');
end $$;

-- Whether the caller may listen to a topic of Realtime: that of a run they may see.
create function pgflow._may_watch(p_topic text)
returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run_id text := substring(p_topic from '^pgflow:run:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$');
begin
  return v_run_id is not null
    and exists (select from pgflow.runs r where r.run_id = v_run_id::uuid and pgflow._may_see(r.owner));
end $$;

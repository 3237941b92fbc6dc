-- Whose a run is that this call starts: null is the server. Callers without an id are one owner, whom the nil UUID stands for: without it
-- their run ids and idempotency keys would be the server's.
create function pgflow._run_owner()
returns uuid
language plpgsql stable
as $$
begin
  return coalesce(pgflow._caller_id(), case when not pgflow._caller_is_server() then '00000000-0000-0000-0000-000000000000'::uuid end);
end $$;

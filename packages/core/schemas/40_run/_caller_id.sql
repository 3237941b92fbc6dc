-- The signed-in person behind this request, from the claims that the API gateway sets; null for the server itself.
create function pgflow._caller_id()
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_claims text := nullif(current_setting('request.jwt.claims', true), '');
  v_sub text;
begin
  if v_claims is null then
    return null;
  end if;
  v_sub := v_claims::jsonb ->> 'sub';
  return case when v_sub ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then v_sub::uuid end;
end $$;

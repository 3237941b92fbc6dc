-- The one way to refuse: all four parts, under a SQLSTATE that is also the error code (docs/errors/<CODE>.md).
create function pgflow._raise(p_code text, p_message text, p_detail text, p_hint text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = p_code, message = p_message, detail = p_detail, hint = p_hint;
end $$;

-- pgcrypto may be in any schema.
create function pgflow._hmac_sha256(p_message text, p_secret text)
returns bytea
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mac bytea;
begin
  execute format('select %I.hmac(convert_to($1, ''UTF8''), convert_to($2, ''UTF8''), ''sha256'')',
                 (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pgcrypto'))
    into v_mac using p_message, p_secret;
  return v_mac;
end $$;

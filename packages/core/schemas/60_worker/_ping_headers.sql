-- The new secret keys (sb_secret_…) are no JWTs: the gateway refuses one as a bearer and takes it as apikey. Everything
-- else goes both ways. Without a key (released local mode) there is none.
create function pgflow._ping_headers(p_key text)
returns jsonb
language sql immutable
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'Content-Type', 'application/json', 'apikey', p_key,
    'Authorization', case when p_key not like 'sb\_secret\_%' then 'Bearer ' || p_key end))
$$;

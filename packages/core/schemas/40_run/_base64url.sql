-- RFC 4648, 5, without padding. encode breaks lines, which goes too.
create function pgflow._base64url(p_bytes bytea)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select translate(encode(p_bytes, 'base64'), E'+/=\n', '-_')
$$;

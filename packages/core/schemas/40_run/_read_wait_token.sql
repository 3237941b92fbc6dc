-- What a genuine token says. One text for everything that is not: a forger learns nothing. What is compared are hashes of the
-- signatures, so that how long it takes tells nothing about the right one. Only then is the body looked at. A short secret could be
-- guessed from a token, so it verifies none.
create function pgflow._read_wait_token(p_token text, out placement text, out run_id text, out step_slug text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := regexp_match(left(p_token, 2000), '^(sfw1\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]+)$');
  v_secret text := pgflow._wait_key(v_parts[2]);
  v_body jsonb;
begin
  if v_secret is null or length(v_secret) < 32
    or sha256(convert_to(v_parts[4], 'UTF8')) <> sha256(convert_to(pgflow._base64url(pgflow._hmac_sha256(v_parts[1], v_secret)), 'UTF8')) then
    perform pgflow._raise('SF207', 'This token is not valid.', 'It is not one of ours, it was changed, or its key has been retired.',
      'Ask whoever sent it for a new one.');
  end if;
  v_body := convert_from(decode(rpad(translate(v_parts[3], '-_', '+/'), (length(v_parts[3]) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb;
  if to_timestamp((v_body ->> 'exp')::bigint) <= pgflow.clock() then
    perform pgflow._raise('SF208', 'This token has expired.',
      format('It was good until %s.', to_char(to_timestamp((v_body ->> 'exp')::bigint) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')),
      'Ask whoever sent it for a new one.');
  end if;
  placement := v_body ->> 'placement';
  run_id := v_body ->> 'run';
  step_slug := v_body ->> 'step';
end $$;

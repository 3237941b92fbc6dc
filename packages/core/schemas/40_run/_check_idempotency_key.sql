-- An index keeps the keys of runs, which takes no longer ones. Null is no key.
create function pgflow._check_idempotency_key(p_flow_slug text, p_key text)
returns void
language plpgsql
as $$
begin
  if octet_length(p_key) > 1024 then
    perform pgflow._raise('SF203', format('The idempotency key for flow "%s" is too long.', p_flow_slug),
      format('It has %s bytes; 1024 are allowed.', octet_length(p_key)), 'Use a shorter key, for example a hash of this one.');
  end if;
end $$;

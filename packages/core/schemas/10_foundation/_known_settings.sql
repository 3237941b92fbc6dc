-- Without SET options, which would keep it from being inlined. Every key: its default (null: unset) and the values it takes.
create function pgflow._known_settings()
returns table (key text, default_value text, allowed text, pattern text)
language sql immutable
as $$
  values
    ('local', null, 'on or off', '^(on|off)$'),
    ('functions_base_url', null, 'the http(s) URL in front of the function names', '^https?://[^ ]+[^/ ]$'),
    ('events', 'watched', 'all, watched or off', '^(all|watched|off)$'),
    ('events_channel', 'private', 'private or public', '^(private|public)$'),
    ('max_requeues', '3', 'a whole number from 0 to 1000', '^(1000|[0-9]{1,3})$'),
    ('max_retry_delay', '86400', 'seconds, a whole number from 0 to 9999999', '^[0-9]{1,7}$'),
    ('wait_token_kid', 'default', 'the name of a key: letters, digits, - and _, at most 32', '^[A-Za-z0-9_-]{1,32}$'),
    ('mirror', 'off', 'on or off', '^(on|off)$'),
    ('unowned_runs', 'hidden', 'hidden or visible', '^(hidden|visible)$'),
    ('test_clock', 'off', 'on or off', '^(on|off)$')
$$;

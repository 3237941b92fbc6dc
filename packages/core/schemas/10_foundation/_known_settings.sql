-- Without SET options, which would keep it from being inlined. Every key: its default (null: unset), the values it takes, and whether a
-- session may set it for itself: only what tunes. What weakens a check, opens a channel or says where secrets go, stands in the table,
-- where the server alone writes.
create function pgflow._known_settings()
returns table (key text, default_value text, allowed text, pattern text, is_for_sessions boolean)
language sql immutable
as $$
  values
    ('local', null, 'on or off', '^(on|off)$', false),
    ('functions_base_url', null, 'the http(s) URL in front of the function names', '^https?://[^ ]+[^/ ]$', false),
    ('events', 'watched', 'all, watched or off', '^(all|watched|off)$', true),
    ('events_channel', 'private', 'private or public', '^(private|public)$', false),
    ('max_requeues', '3', 'a whole number from 0 to 1000', '^(1000|[0-9]{1,3})$', true),
    ('max_retry_delay', '86400', 'seconds, a whole number from 0 to 9999999', '^[0-9]{1,7}$', true),
    ('wait_token_kid', 'default', 'the name of a key: letters, digits, - and _, at most 32', '^[A-Za-z0-9_-]{1,32}$', false),
    ('mirror', 'off', 'on or off', '^(on|off)$', false),
    ('unowned_runs', 'hidden', 'hidden or visible', '^(hidden|visible)$', false),
    ('test_clock', 'off', 'on or off', '^(on|off)$', false)
$$;

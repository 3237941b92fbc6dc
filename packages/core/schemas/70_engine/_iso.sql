-- An instant in a payload, the same whatever the time zone of the session.
create function starflow._iso(p_at timestamptz)
returns text
language sql stable
return to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

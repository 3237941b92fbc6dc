create function starflow._milliseconds(p_ms bigint)
returns interval
language sql immutable
return p_ms * interval '1 millisecond';

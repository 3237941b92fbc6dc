create function starflow._has_ended(p_status text)
returns boolean
language sql immutable
return p_status in ('success', 'error', 'cancelled');

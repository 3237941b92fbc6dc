-- How far apart the pings of a function are whose last starts failed: 6 s, 12 s, … 5 min, with a debounce of 6 s.
create function pgflow._start_back_off(p_debounce interval, p_failed_starts integer)
returns interval
language sql immutable
as $$
  select case when p_failed_starts > 0 then least(interval '5 minutes', p_debounce * power(2, least(p_failed_starts, 10) - 1))
              else interval '0' end
$$;

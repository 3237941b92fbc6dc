-- How long a value is as JSON text. Of a large one as it is stored: to write it out only to measure it would cost more than that tells.
create function starflow._json_size(p_value jsonb)
returns integer
language sql immutable
return case when pg_column_size(p_value) > 65536 then pg_column_size(p_value) else octet_length(p_value::text) end;

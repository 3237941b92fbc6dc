-- The span that a start belongs to (W3C traceparent): what its caller has set for this transaction, or the header of its request, where
-- an API stands in front. Null for none, and for what is no traceparent; that costs a look at two settings.
create function pgflow._traceparent()
returns text
language plpgsql stable
as $$
declare
  v_traceparent text := nullif(current_setting('pgflow.traceparent', true), '');
  v_headers text;
begin
  if v_traceparent is null then
    v_headers := current_setting('request.headers', true);
    if v_headers is null or position('"traceparent"' in v_headers) = 0 then
      return null;
    end if;
    v_traceparent := v_headers::jsonb ->> 'traceparent';
  end if;
  return case when length(v_traceparent) <= 128
                and v_traceparent ~ '^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$' then v_traceparent end;
end $$;

-- The start of an answer's body in one line, for people to read. Whoever answers may repeat what it was sent: neither our key
-- nor anything that looks like one is kept, nor the password of an address.
create function pgflow._readable_answer(p_body text, p_key text)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- Cut first: a body may be long, and a cut key must be found too.
  v_text text := left(p_body, 2000 + coalesce(length(p_key), 0));
begin
  if length(p_key) > 0 then
    v_text := replace(v_text, p_key, '[secret]');
  end if;
  v_text := regexp_replace(v_text, 'eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_.-]*|sb_secret_[A-Za-z0-9_-]*', '[secret]', 'g');
  v_text := regexp_replace(v_text, '://[^\s"'']*@', '://[secret]@', 'g');
  v_text := btrim(regexp_replace(v_text, '\s+', ' ', 'g'));
  return case when length(v_text) > 300 then left(v_text, 299) || '…' else nullif(v_text, '') end;
end $$;

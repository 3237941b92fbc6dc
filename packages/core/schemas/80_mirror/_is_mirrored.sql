create function starflow._is_mirrored()
returns boolean
language plpgsql stable
as $$
begin
  return pgflow._setting('mirror') = 'on';
end $$;

create function pgflow.is_local()
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting text := pgflow.get_setting('local');
begin
  if v_setting is not null then
    return v_setting = 'on';
  end if;
  -- The JWT secret that every local Supabase CLI stack shares.
  return coalesce(current_setting('app.settings.jwt_secret', true), '')
    = 'super-secret-jwt-token-with-at-least-32-characters-long';
end $$;
comment on function pgflow.is_local() is 'Whether this is a development database: the setting local decides, else the well-known development JWT secret.';

-- Where and with which key worker functions are pinged, and where both come from; url null: not configured.
--   functions_base_url (self-hosted and our local platform), else the released local mode, else the project's id
create function pgflow._ping_target(
  out base_url text, out auth_key text, out is_released_local_mode boolean, out url_source text, out key_source text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_project text;
begin
  is_released_local_mode := false;
  base_url := pgflow.get_setting('functions_base_url');
  auth_key := pgflow._vault_secret('pgflow_auth_secret');
  key_source := case when auth_key is not null then 'Vault secret pgflow_auth_secret' end;
  if auth_key is null then
    auth_key := pgflow._vault_secret('supabase_service_role_key');
    key_source := case when auth_key is not null then 'Vault secret supabase_service_role_key' end;
  end if;
  if base_url is not null then
    url_source := 'setting functions_base_url';
  elsif pgflow.is_local() then
    is_released_local_mode := true;
    url_source := 'local Supabase CLI';
    base_url := 'http://kong:8000/functions/v1';
  else
    v_project := pgflow._vault_secret('supabase_project_id');
    url_source := case when v_project is not null then 'Vault secret supabase_project_id' end;
    base_url := 'https://' || v_project || '.supabase.co/functions/v1';
  end if;
end $$;

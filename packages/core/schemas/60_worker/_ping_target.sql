-- Where and with which key worker functions are pinged; url null: not configured.
--   functions_base_url (self-hosted and our local platform), else the released local mode, else the project's id
create function pgflow._ping_target(out base_url text, out auth_key text, out is_released_local_mode boolean)
language plpgsql stable
set search_path = ''
as $$
begin
  is_released_local_mode := false;
  base_url := pgflow.get_setting('functions_base_url');
  auth_key := coalesce(pgflow._vault_secret('pgflow_auth_secret'), pgflow._vault_secret('supabase_service_role_key'));
  if base_url is null and pgflow.is_local() then
    is_released_local_mode := true;
    base_url := 'http://kong:8000/functions/v1';
  elsif base_url is null then
    base_url := 'https://' || pgflow._vault_secret('supabase_project_id') || '.supabase.co/functions/v1';
  end if;
end $$;

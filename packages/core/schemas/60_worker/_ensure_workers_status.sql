create function pgflow._ensure_workers_status(
  out is_ready boolean, out functions_url text, out url_source text, out key_source text, out key_kind text,
  out missing text[], out hint text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_target record;
  v_hints text[] := '{}';
  v_is_scheduled boolean := false;
  v_secret text;
begin
  select * into v_target from pgflow._ping_target();
  functions_url := regexp_replace(v_target.base_url, '//[^/@]*@', '//');
  url_source := v_target.url_source;
  key_source := v_target.key_source;
  key_kind := case when v_target.auth_key is null then null
                   when v_target.auth_key like 'sb\_secret\_%' then 'secret key'
                   when v_target.auth_key ~ '^eyJ[^.]*\.[^.]*\.[^.]*$' then 'JWT'
                   else 'shared secret' end;
  missing := '{}';
  if v_target.base_url is null then
    missing := missing || 'address of the functions'::text;
    v_hints := v_hints || 'select vault.create_secret(''<project ref>'', ''supabase_project_id''), or, self-hosted, select pgflow.set_setting(''functions_base_url'', ''https://…/functions/v1'')'::text;
  end if;
  if v_target.auth_key is null and not v_target.is_released_local_mode then
    missing := missing || 'key'::text;
    v_hints := v_hints || 'select vault.create_secret(''<secret>'', ''pgflow_auth_secret'') and set the same value as the functions'' secret STARFLOW_AUTH_SECRET'::text;
  end if;
  foreach v_secret in array pgflow._undecryptable_secrets(array['pgflow_auth_secret', 'supabase_service_role_key', 'supabase_project_id']) loop
    missing := missing || format('Vault secret %s: it is there and cannot be decrypted', v_secret);
    v_hints := v_hints || format('select vault.update_secret((select id from vault.secrets where name = %L), ''<its value>'')', v_secret);
  end loop;
  if to_regprocedure('net.http_post(text, jsonb, jsonb, jsonb, integer)') is null then
    missing := missing || 'pg_net'::text;
    v_hints := v_hints || 'create extension pg_net'::text;
  end if;
  if to_regclass('cron.job') is null then
    missing := missing || 'pg_cron'::text;
    v_hints := v_hints || 'create extension pg_cron, then select pgflow.setup_ensure_workers_cron()'::text;
  else
    begin
      execute 'select exists (select from cron.job j where j.command like ''%pgflow.ensure_workers()%'' and j.active)' into v_is_scheduled;
    exception when insufficient_privilege then
      v_is_scheduled := true;
    end;
    if not v_is_scheduled then
      missing := missing || 'cron job'::text;
      v_hints := v_hints || 'select pgflow.setup_ensure_workers_cron()'::text;
    end if;
  end if;
  is_ready := missing = '{}';
  hint := case when is_ready then null else array_to_string(v_hints, '; ') end;
end $$;

create function starflow._mirror_session_var()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if starflow._is_mirrored() then
    if tg_op = 'DELETE' then
      insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
      values (old.run_id, 'session_var', jsonb_build_object('session_id', old.session_id, 'key', old.key, 'is_deleted', true), pgflow.clock());
    else
      insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
      values (new.run_id, 'session_var', to_jsonb(new), pgflow.clock());
    end if;
  end if;
  return null;
end $$;
create trigger mirror_session_var after insert or delete or update of value_json, keep_until
  on starflow.workflow_session_vars for each row execute function starflow._mirror_session_var();

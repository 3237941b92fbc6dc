-- What pg_net has kept of the answer to a ping; all null where nothing came yet, it is pruned already, or nobody may see it; and
-- after a crash, when an answer under this id is one to another request.
-- A ping that ran into its timeout has no answer either: the start that it asked for goes on.
-- pg_net's table has an index on created only, and nothing there is older than the request.
create function pgflow._ping_answer(
  p_function_name text, p_request_id bigint, p_sent_at timestamptz, out status_code integer, out body text, out error_message text, out answered_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pgflow.awaited_pings p where p.function_name = p_function_name and p.request_id = p_request_id) then
    return;
  end if;
  execute 'select r.status_code, r.content, case when r.timed_out then null else r.error_msg end, r.created from net._http_response r
           where r.id = $1 and r.created >= $2 - interval ''1 minute'' order by r.created desc limit 1'
  into status_code, body, error_message, answered_at using p_request_id, p_sent_at;
exception
  when undefined_table or invalid_schema_name or undefined_column or insufficient_privilege then
    null;
end $$;

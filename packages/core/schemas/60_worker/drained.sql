-- A worker that was killed says nothing: it is counted until its heartbeat is stale, and its tasks come back by recovery.
create function pgflow.drained(function_names text[])
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return not exists (
    select from pgflow.workers w
    where w.function_name = any (drained.function_names) and w.stopped_at is null and pgflow._heartbeat_is_fresh(w));
end $$;
comment on function pgflow.drained(text[]) is 'Whether no worker of these functions is alive any longer, the ones that are still finishing included.';

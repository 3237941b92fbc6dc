create function pgflow.track_worker_function(function_name text, start_mode text default 'http')
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(btrim(track_worker_function.function_name), '') = '' then
    perform pgflow._raise('SF001', 'A worker function needs a name.', 'function_name is empty.',
      'Give the name under which it is deployed: the first segment of its path.');
  end if;
  -- Most calls change nothing, and then lock nothing: a start must not wait behind whoever holds the function's row.
  if exists (select from pgflow.worker_functions f where f.function_name = track_worker_function.function_name
             and f.start_mode = track_worker_function.start_mode) then
    return;
  end if;
  insert into pgflow.worker_functions as f (function_name, start_mode)
  values (track_worker_function.function_name, track_worker_function.start_mode)
  on conflict on constraint worker_functions_pkey do update set start_mode = excluded.start_mode, updated_at = now()
  where f.start_mode <> excluded.start_mode;
end $$;
comment on function pgflow.track_worker_function(text, text) is 'Makes a worker function known, so that ensure_workers starts it (http) or leaves it alone (process). Never touches its fence.';

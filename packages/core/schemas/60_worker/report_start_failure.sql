-- A start that failed (a mismatch, say) inserts nothing: an existing row keeps the error and is pinged less and less. Whoever
-- waited for that start need not look at the answer of its ping, which would count it twice.
create function pgflow.report_start_failure(function_name text, error_message text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update pgflow.worker_functions f set
    last_error = left(report_start_failure.error_message, 2000), last_error_at = pgflow.clock(), failed_starts = f.failed_starts + 1,
    start_awaited_since = null, start_request_id = null
  where f.function_name = report_start_failure.function_name;
end $$;
comment on function pgflow.report_start_failure(text, text) is 'Keeps the reason why a worker could not start; pings then back off up to 5 min.';

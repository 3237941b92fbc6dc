create function pgflow._check_reports(p_worker_id uuid, p_reports jsonb)
returns void
language plpgsql
as $$
begin
  if p_worker_id is null then
    perform pgflow._raise('SF303', 'Reports need the worker that makes them.', 'worker_id is null.', 'Send the id the tasks were claimed with.');
  end if;
  if jsonb_typeof(p_reports) is distinct from 'array' then
    perform pgflow._raise('SF303', 'Reports must be one JSON array.', format('Got %s.', coalesce(jsonb_typeof(p_reports), 'null')),
      'Send [] when there is nothing to report.');
  end if;
end $$;

create function pgflow._check_worker_functions(p_function_names text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_unknown text;
begin
  select string_agg(format('"%s"', n.name), ', ' order by n.name) into v_unknown
  from (select distinct unnest(p_function_names) as name) n
  where not exists (select from pgflow.worker_functions f where f.function_name = n.name);
  if v_unknown is not null or p_function_names is null then
    perform pgflow._raise('SF422', format('Worker function %s is not known here.', coalesce(v_unknown, 'null')),
      coalesce('Known: ' || (select string_agg(f.function_name, ', ' order by f.function_name) from pgflow.worker_functions f) || '.',
               'No worker function is known yet.'),
      'Check the spelling, or make it known with pgflow.track_worker_function. Nothing was changed.');
  end if;
end $$;

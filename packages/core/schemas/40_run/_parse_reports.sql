-- Reports as rows. The whole batch is converted at once; only where that fails is each report converted by itself, so
-- that one output which jsonb cannot hold fails its own attempt and no other. A report without a usable identity comes
-- back with a problem and nothing else.
create function pgflow._parse_reports(p_reports jsonb)
returns pgflow._report[]
language plpgsql
as $$
declare
  v_parsed pgflow._report[];
  v_one pgflow._report;
  v_element jsonb;
begin
  begin
    select array_agg(row(
        e.run_id, e.step_slug, e.task_index, e.attempt, e.status, e.output::jsonb, e.error_message, e.error ->> 'name',
        e.error ->> 'stack', case when e.retry_delay >= 0 then least(e.retry_delay, 2147483647)::integer end,
        coalesce(e.permanent, false), coalesce(e.forgiven, false),
        case when e.run_id is null or e.step_slug is null or e.task_index is null then 'malformed'
             when e.status is null or e.status not in ('completed', 'failed') then 'unknown status' end)::pgflow._report)
    into v_parsed
    from jsonb_to_recordset(p_reports) as e(
      run_id uuid, step_slug text, task_index integer, attempt integer, status text, output text, error_message text,
      error jsonb, retry_delay numeric, permanent boolean, forgiven boolean);
    return v_parsed;
  exception when data_exception or program_limit_exceeded then
    if jsonb_array_length(p_reports) = 1 then
      v_element := p_reports -> 0;
      begin
        select e.run_id, e.step_slug, e.task_index, e.attempt into v_one.run_id, v_one.step_slug, v_one.task_index, v_one.attempt
        from jsonb_to_record(v_element) as e(run_id uuid, step_slug text, task_index integer, attempt integer);
        v_one.status := 'failed';
        v_one.permanent := false;
        v_one.forgiven := false;
        v_one.error_message := left(format('The report of this attempt cannot be stored: %s', sqlerrm), 2000);
        v_one.error_name := 'InvalidOutputError';
      exception when data_exception then
        v_one.problem := 'malformed';
      end;
      return array[v_one];
    end if;
  end;
  for v_element in select e.value from jsonb_array_elements(p_reports) e loop
    v_parsed := v_parsed || pgflow._parse_reports(jsonb_build_array(v_element));
  end loop;
  return v_parsed;
end $$;

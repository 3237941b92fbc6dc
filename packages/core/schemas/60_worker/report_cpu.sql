-- For whoever measures from outside, since an edge function cannot measure itself. They know isolates and not workers, so it goes by
-- the execution id (SB_EXECUTION_ID inside the isolate, execution_id in the platform's logs). No worker ever waits for this: a row
-- that somebody holds gets its figure with the next report, and one whose figure would not grow is not written.
create function pgflow.report_cpu(cpu_ms jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
  v_count integer;
begin
  if jsonb_typeof(report_cpu.cpu_ms) is distinct from 'object' then
    perform pgflow._raise('SF303', 'The CPU of isolates must be one JSON object.', format('Got %s.', coalesce(jsonb_typeof(report_cpu.cpu_ms), 'null')),
      'Send milliseconds by execution id: {"<execution id>": 812}.');
  end if;
  select format('%s: %s', to_json(e.key), left(e.value::text, 100)) into v_wrong from jsonb_each(report_cpu.cpu_ms) e
  where case when e.key !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' or jsonb_typeof(e.value) <> 'number' then true
             else e.value::numeric not between 0 and 1e15 end
  order by e.key limit 1;
  if v_wrong is not null then
    perform pgflow._raise('SF303', 'The CPU of an isolate must be milliseconds, 0 or more, under its execution id.', format('Got %s.', v_wrong),
      'Send milliseconds by execution id: {"<execution id>": 812}.');
  end if;
  with measured as (
    select e.key::uuid as execution_id, round(e.value::numeric)::bigint as cpu_ms from jsonb_each(report_cpu.cpu_ms) e
  ), grown as (
    select w.worker_id, m.cpu_ms from measured m
    join pgflow.workers w on coalesce(w.execution_id, w.worker_id) = m.execution_id
    where w.cpu_ms is null or w.cpu_ms < m.cpu_ms
    for no key update of w skip locked
  )
  update pgflow.workers w set cpu_ms = g.cpu_ms from grown g where w.worker_id = g.worker_id;
  get diagnostics v_count = row_count;
  return v_count;
end $$;
comment on function pgflow.report_cpu(jsonb) is
  'Whoever measures isolates from outside tells their CPU since boot, in milliseconds by execution id. Returns for how many workers the figure has grown: it never becomes smaller, and ids without a worker are passed over.';

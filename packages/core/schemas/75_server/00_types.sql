-- A run in queue placement with whose it is; null: nobody's, it was started in SQL. Not found: where a look ended, no run of the list.
create type starflow.queue_run as (
  run_id uuid, flow_slug text, workspace_id text, env text, status text, started_at timestamptz, ended_at timestamptz, error text,
  is_found boolean
);
-- What happened to a run in queue placement. The tables keep states, not a log: this is what can be read off them.
create type starflow.queue_run_event as (
  happened_at timestamptz, event_type text, node_id text, attempt integer, payload jsonb
);
-- A figure for monitoring, under the name that docs/operations/metrics.md explains.
create type starflow.metric_sample as (metric text, labels jsonb, value double precision);
-- An attempt of a task, how it ended (running: it has not) and by whom it was made.
create type starflow.queue_run_attempt as (
  task_index integer, attempt integer, outcome text, worker_id uuid, function_name text, started_at timestamptz, ended_at timestamptz,
  error_name text, error_message text, error_stack text
);
-- Something that is wrong now, as a rule of alerts sees it. facts: counts, instants and identifiers.
create type starflow.observed_problem as (rule text, subject text, facts jsonb);
-- A problem that has just been opened or resolved.
create type starflow.problem_change as (problem_id uuid, rule text, subject text, change text, facts jsonb);

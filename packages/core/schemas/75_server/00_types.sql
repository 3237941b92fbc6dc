-- A run in queue placement with whose it is; null: nobody's, it was started in SQL.
create type starflow.queue_run as (
  run_id uuid, flow_slug text, workspace_id text, env text, status text, started_at timestamptz, ended_at timestamptz, error text
);
-- What happened to a run in queue placement. The tables keep states, not a log: this is what can be read off them.
create type starflow.queue_run_event as (
  happened_at timestamptz, event_type text, node_id text, attempt integer, payload jsonb
);
-- A figure for monitoring, under the name that docs/operations/metrics.md explains.
create type starflow.metric_sample as (metric text, labels jsonb, value double precision);

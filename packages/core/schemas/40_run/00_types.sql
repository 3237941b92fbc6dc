create type pgflow.claimed_task as (
  flow_slug text, run_id uuid, step_slug text, task_index integer, msg_id bigint, attempt integer, input jsonb, flow_input jsonb
);
-- What became of a resume: accepted, early, already_resumed, timed_out, skipped or run_ended.
create type pgflow.wait_answer as (run_id uuid, step_slug text, outcome text);
create type pgflow.settled_report as (
  run_id uuid, step_slug text, task_index integer, accepted boolean, reason text
);
-- A report that changed nothing; ordinal is its place in the call, from 1.
create type pgflow._refused_report as (
  ordinal bigint, run_id uuid, step_slug text, task_index integer, reason text
);
-- A report as it is worked on: what the worker said, what was wrong with it, and then the task row that it ended.
create type pgflow._report as (
  run_id uuid, step_slug text, task_index integer, attempt integer, status text, output jsonb, error_message text,
  error_name text, error_stack text, retry_delay integer, permanent boolean, forgiven boolean, problem text
);
create type pgflow._ended_task as (
  flow_slug text, run_id uuid, step_slug text, task_index integer, queue_name text, message_id bigint, output jsonb,
  error_message text
);
-- What a start has to know of a step: read once, so that a step which is added meanwhile belongs to the run as a whole or not at all.
create type pgflow._step_definition as (step_slug text, step_type text, deps_count integer, has_condition boolean);
-- A step whose failure its run does not survive.
create type pgflow._failed_step as (run_id uuid, step_slug text, error_message text);
-- What the hot call answers, one row a fact: claimed, refused, unsupported, halted, stalled, or the worker's state.
create type pgflow.work_item as (
  kind text, flow_slug text, run_id uuid, step_slug text, task_index integer, msg_id bigint, attempt integer,
  input jsonb, flow_input jsonb, timeout_seconds integer, reason text
);
